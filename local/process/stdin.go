package process

import (
	"errors"
	"io"
	"sync"
	"time"
)

// stdinQueue passes bytes to the stdin of a process, in order. All accepted bytes are delivered as long as the
// process reads.
type stdinQueue struct {
	pipe   io.WriteCloser
	exited <-chan struct{} // closed when the process has ended
	onFull func()          // called once, when the queue is full for the first time

	mu      sync.Mutex
	applied int64 // bytes accepted
	chunks  [][]byte
	queued  int  // bytes of chunks and of the chunk being written
	broken  bool // the process has closed its stdin: later bytes are accepted and discarded
	closed  bool // no more bytes are accepted
	warned  bool
	changed chan struct{}
	done    chan struct{}
}

// stdinBudget bounds the queued input of one process.
const stdinBudget = 8 << 20

// exitGrace bounds how long the queue waits for the exit of the process after a broken pipe. The kernel closes the
// pipes of a dying process shortly before it reports the exit, and on a busy machine that takes a while. The wait
// costs little, because a process that has closed its stdin reads nothing.
const exitGrace = 5 * time.Second

var (
	errGap    = errors.New("gap")
	errClosed = errors.New("closed")
	errFull   = errors.New("full")
)

func newStdinQueue(pipe io.WriteCloser, exited <-chan struct{}, full func()) *stdinQueue {
	q := &stdinQueue{pipe: pipe, exited: exited, onFull: full, changed: make(chan struct{}), done: make(chan struct{})}
	go q.deliver() // ends with close
	return q
}

// broadcast wakes all waiters. The caller holds the lock.
func (q *stdinQueue) broadcast() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *stdinQueue) deliver() {
	defer close(q.done)
	for {
		chunk, broken := q.next()
		if chunk == nil {
			return
		}
		dead := false
		if !broken {
			if _, err := q.pipe.Write(chunk); err != nil {
				broken, dead = true, q.exitsWithinGrace()
			}
		}
		q.mu.Lock()
		q.broken, q.closed = broken, q.closed || dead
		q.queued -= len(chunk)
		q.broadcast()
		q.mu.Unlock()
	}
}

// next waits for the next chunk. It returns nil when the queue is closed.
func (q *stdinQueue) next() (chunk []byte, broken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.chunks) == 0 && !q.closed {
		changed := q.changed
		q.mu.Unlock()
		<-changed
		q.mu.Lock()
	}
	if q.closed {
		return nil, false
	}
	chunk, q.chunks[0] = q.chunks[0], nil
	q.chunks = q.chunks[1:]
	return chunk, q.broken
}

// exitsWithinGrace reports whether the process exits within exitGrace. If it does not, it has only closed its stdin.
func (q *stdinQueue) exitsWithinGrace() bool {
	t := time.NewTimer(exitGrace)
	defer t.Stop()
	select {
	case <-q.exited:
		return true
	case <-t.C:
		return false
	}
}

// offer accepts data that begins at offset; a nil offset means the end of the input so far. After errFull, the caller
// waits for changed and tries again.
func (q *stdinQueue) offer(data []byte, offset *int64) (applied int64, accepted int, changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return q.applied, 0, nil, errClosed
	}
	if offset != nil {
		switch at := *offset; {
		case at > q.applied:
			return q.applied, 0, nil, errGap
		case at < q.applied && int64(len(data)) <= q.applied-at:
			return q.applied, duplicate, nil, nil
		default:
			data = data[q.applied-at:]
		}
	}
	if len(data) == 0 {
		return q.applied, 0, nil, nil
	}
	if q.queued > 0 && q.queued+len(data) > stdinBudget {
		if !q.warned {
			q.warned = true
			q.onFull()
		}
		return q.applied, 0, q.changed, errFull
	}
	q.applied += int64(len(data))
	q.queued += len(data)
	q.chunks = append(q.chunks, data)
	q.broadcast()
	return q.applied, len(data), nil, nil
}

// duplicate is the accepted count for data that was accepted before.
const duplicate = -1

func (q *stdinQueue) total() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.applied
}

// close ends the delivery, because the process has ended.
func (q *stdinQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.broadcast()
	q.mu.Unlock()
	q.pipe.Close()
	<-q.done
}
