package process

import (
	"errors"
	"os"
	"sync"
)

// stdinQueue carries bytes to a process in order. What it has accepted it delivers, as long as the process reads.
type stdinQueue struct {
	pipe *os.File
	full func() // called once, when a request has to wait for the first time

	mu      sync.Mutex
	applied int64 // bytes accepted
	chunks  [][]byte
	held    int // bytes of chunks, the one under way included
	broken  bool
	closed  bool
	told    bool
	changed chan struct{}
	done    chan struct{}
}

// stdinBudget is how much may wait for one process.
const stdinBudget = 8 << 20

var (
	errGap    = errors.New("gap")
	errClosed = errors.New("closed")
	errFull   = errors.New("full")
)

func newStdinQueue(pipe *os.File, full func()) *stdinQueue {
	q := &stdinQueue{pipe: pipe, full: full, changed: make(chan struct{}), done: make(chan struct{})}
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
		q.mu.Lock()
		for len(q.chunks) == 0 && !q.closed {
			changed := q.changed
			q.mu.Unlock()
			<-changed
			q.mu.Lock()
		}
		if q.closed {
			q.mu.Unlock()
			return
		}
		chunk := q.chunks[0]
		q.chunks = q.chunks[1:]
		broken := q.broken
		q.mu.Unlock()
		if !broken {
			_, err := q.pipe.Write(chunk)
			broken = err != nil
		}
		q.mu.Lock()
		q.broken = broken
		q.held -= len(chunk)
		q.touch()
		q.mu.Unlock()
	}
}

// offer accepts data that begins at offset, nil for the end, or says why not. After errFull, wait for what it returns.
func (q *stdinQueue) offer(data []byte, offset *int64) (applied int64, duplicate bool, changed <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return q.applied, false, nil, errClosed
	}
	if offset != nil {
		switch end := *offset + int64(len(data)); {
		case *offset > q.applied:
			return q.applied, false, nil, errGap
		case *offset < q.applied && end <= q.applied:
			return q.applied, true, nil, nil
		default:
			data = data[q.applied-*offset:]
		}
	}
	if len(data) == 0 {
		return q.applied, false, nil, nil
	}
	if q.held > 0 && q.held+len(data) > stdinBudget {
		if !q.told {
			q.told = true
			q.full()
		}
		return q.applied, false, q.changed, errFull
	}
	q.applied += int64(len(data))
	q.held += len(data)
	q.chunks = append(q.chunks, data)
	q.touch()
	return q.applied, false, nil, nil
}

func (q *stdinQueue) total() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.applied
}

// close ends the delivery: the process is gone.
func (q *stdinQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.touch()
	q.mu.Unlock()
	q.pipe.Close()
	<-q.done
}
