package process

import (
	"errors"
	"io"
	"sync"
	"time"
)

// stdinQueue carries bytes to a process in order. It delivers all bytes that it has accepted, as long as the process
// reads.
type stdinQueue struct {
	pipe   io.WriteCloser
	exited <-chan struct{} // closed when the process has ended
	full   func()          // called once, when a request has to wait for the first time

	mu      sync.Mutex
	applied int64 // bytes accepted
	chunks  [][]byte
	queued  int  // bytes of chunks, the one under way included
	broken  bool // the process has closed its stdin: later bytes are accepted and discarded
	closed  bool // nothing is accepted any more
	warned  bool
	changed chan struct{}
	done    chan struct{}
}

// stdinBudget limits the input that waits for one process.
const stdinBudget = 8 << 20

// deathGrace is the time for which a pipe without a reader counts as a process about to end: the system closes the pipe
// of a dying process a moment before it says that the process is dead, and on a busy machine that moment is long. It
// costs little: a process that closed its stdin and lives on reads nothing anyhow.
const deathGrace = 5 * time.Second

var (
	errGap    = errors.New("gap")
	errClosed = errors.New("closed")
	errFull   = errors.New("full")
)

func newStdinQueue(pipe io.WriteCloser, exited <-chan struct{}, full func()) *stdinQueue {
	q := &stdinQueue{pipe: pipe, exited: exited, full: full, changed: make(chan struct{}), done: make(chan struct{})}
	go q.deliver() // ends with close
	return q
}

// touch wakes all that wait; the lock is held.
func (q *stdinQueue) touch() {
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
				broken, dead = true, q.hasExited()
			}
		}
		q.mu.Lock()
		q.broken, q.closed = broken, q.closed || dead
		q.queued -= len(chunk)
		q.touch()
		q.mu.Unlock()
	}
}

// next waits for the next chunk; nil is the end.
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

// hasExited reports whether the process has ended, or only closed its stdin.
func (q *stdinQueue) hasExited() bool {
	t := time.NewTimer(deathGrace)
	defer t.Stop()
	select {
	case <-q.exited:
		return true
	case <-t.C:
		return false
	}
}

// offer accepts data that begins at offset, nil for the end, or says why not. After errFull, wait for changed.
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
			q.full()
		}
		return q.applied, 0, q.changed, errFull
	}
	q.applied += int64(len(data))
	q.queued += len(data)
	q.chunks = append(q.chunks, data)
	q.touch()
	return q.applied, len(data), nil, nil
}

// duplicate is the number of accepted bytes that stands for data which was all accepted before.
const duplicate = -1

func (q *stdinQueue) total() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.applied
}

// close ends the delivery: the process has ended.
func (q *stdinQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.touch()
	q.mu.Unlock()
	q.pipe.Close()
	<-q.done
}
