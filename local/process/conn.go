package process

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// conn is a connection to a client. Its reader dispatches requests. Its writer sends answers first, and then frames
// of the processes that the client follows. It reads the frames from their replays when the client can receive them.
type conn struct {
	s  *Server
	nc net.Conn

	mu          sync.Mutex
	answers     []byte              // answers, as lines
	positions   map[*proc]*position // of the processes that it follows, in their frames
	unsent      map[*proc]bool      // followed processes that may have frames to send
	lateAnswers []lateAnswer
	files       []*fileBody         // answers whose content is read from the file while they are sent
	queues      map[string][]func() // waiting requests; a queue exists while one of its requests runs
	inFlight    int
	queuedBytes int           // request bytes of waiting requests
	lateBytes   int           // bytes of answers that wait until frames are sent
	draining    bool          // the client has closed its write side: the writer sends the last answers, then closes
	ended       bool          // nothing more is sent
	freed       chan struct{} // closed and replaced when a request or answer is done, so that throttle checks again
	fileSlots   chan struct{} // one element for each open fileBody
	wakeup      chan struct{} // wakes the writer
	done        chan struct{} // closed when the connection ends
	closeOnce   sync.Once
}

// position is the position of a connection in the frames of a process. The writer sends the frames of the first
// reattach, then its answer, and so on for each reattach. Then it sends new frames as they are added.
type position struct {
	cursor     cursor
	reattaches []reattachJob
}

// reattachJob is a reattach whose answer follows the frames from..to.
type reattachJob struct {
	from, to uint64
	line     []byte
}

// lateAnswer is an answer that follows the exit frame of a process, if the connection follows that process.
type lateAnswer struct {
	p    *proc
	line []byte
}

const (
	maxLine          = 1 << 20 // including the newline
	maxInFlight      = 1024
	maxAnswerBytes   = 8 << 20
	maxQueuedBytes   = 16 << 20
	maxFiles         = 4
	batchBytes       = 256 << 10 // of frames that are sent before the next answers
	halfCloseTimeout = 15 * time.Second
)

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{s: s, nc: nc, positions: map[*proc]*position{}, unsent: map[*proc]bool{}, queues: map[string][]func(){}, freed: make(chan struct{}),
		fileSlots: make(chan struct{}, maxFiles), wakeup: make(chan struct{}, 1), done: make(chan struct{})}
}

// end closes the connection. It is safe to call concurrently and repeatedly.
func (c *conn) end() {
	c.closeOnce.Do(func() {
		close(c.done)
		c.nc.Close()
	})
}

func (c *conn) run() {
	var writer sync.WaitGroup
	writer.Go(c.write)
	if c.read() {
		c.drain()
	}
	c.end()
	writer.Wait()
	c.mu.Lock()
	c.ended = true
	followed := slices.Collect(maps.Keys(c.positions))
	for _, f := range c.files {
		f.file.Close()
	}
	c.mu.Unlock()
	for _, p := range followed {
		p.mu.Lock()
		delete(p.subscribers, c)
		p.mu.Unlock()
	}
}

// drain waits until all requests are answered and their answers sent, but at most for halfCloseTimeout.
func (c *conn) drain() {
	due := time.NewTimer(halfCloseTimeout)
	defer due.Stop()
	for {
		c.mu.Lock()
		idle, freed := c.inFlight == 0, c.freed
		c.draining = c.draining || idle
		c.mu.Unlock()
		if idle {
			c.wake()
			select {
			case <-c.done: // closed by the writer after the last answer
			case <-due.C:
			}
			return
		}
		select {
		case <-freed:
		case <-c.done:
			return
		case <-due.C:
			return
		}
	}
}

// dispatch parses a request and runs its method, in a goroutine or in the queue of its process.
func (c *conn) dispatch(line []byte) {
	c.mu.Lock()
	c.inFlight++
	c.mu.Unlock()
	r, err := c.s.parse(line)
	var m method
	if err == nil {
		m, err = c.s.lookupMethod(r.Method)
	}
	if err != nil {
		c.answer(encodeAnswer(r.ID, nil, err))
		return
	}
	if m.plain != nil {
		size, do := len(line), m.run(r.Params)
		c.addQueuedBytes(size)
		c.goAnswer(r.ID, func() {
			defer c.addQueuedBytes(-size)
			c.runPlain(r.ID, do, m.files)
		})
		return
	}
	process, do := m.process(r.Params)
	k := &call{c: c, s: c.s, id: r.ID, size: len(line)}
	c.addQueuedBytes(k.size)
	c.enqueue("process/"+process, func() {
		defer c.recoverPanic(r.ID)
		defer func() {
			if !k.requeued {
				c.addQueuedBytes(-k.size)
			}
		}()
		do(k)
	})
}

// runPlain runs a method that needs no order. If files is set, its result may be a fileBody, and it waits for a file
// slot first.
func (c *conn) runPlain(id any, do func(*Server) (any, error), files bool) {
	queued := false // then the writer releases the slot
	if files {
		select {
		case c.fileSlots <- struct{}{}:
		case <-c.done:
			return
		}
		defer func() {
			if !queued {
				<-c.fileSlots
			}
		}()
	}
	result, err := do(c.s)
	switch body := result.(type) {
	case noAnswer: // the connection is about to end
		return
	case *fileBody:
		body.setID(id)
		queued = true
		c.queueFile(body)
		return
	}
	c.answer(encodeAnswer(id, result, err))
}

// queueFile hands a file to the writer.
func (c *conn) queueFile(f *fileBody) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		f.file.Close()
		return
	}
	c.files = append(c.files, f)
	c.wake()
}

// goAnswer runs f in its own goroutine. If f panics, the request is answered with an internal error.
func (c *conn) goAnswer(id any, f func()) {
	c.s.Go(func() {
		defer c.recoverPanic(id)
		f()
	})
}

func (c *conn) recoverPanic(id any) {
	if v := recover(); v != nil {
		c.answer(encodeAnswer(id, nil, rpcErrorf(codeInternal, "recovered panic: %v", v)))
	}
}

// enqueue runs f after all earlier requests of the queue, one at a time.
func (c *conn) enqueue(name string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, busy := c.queues[name]; busy {
		c.queues[name] = append(waiting, f)
		return
	}
	c.queues[name] = nil
	c.s.Go(func() {
		for ; f != nil; f = c.nextQueued(name) {
			f()
		}
	})
}

// nextQueued returns the next request of a queue. It removes an empty queue and returns nil.
func (c *conn) nextQueued(name string) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.queues[name]
	if len(waiting) == 0 {
		delete(c.queues, name)
		return nil
	}
	c.queues[name] = waiting[1:]
	return waiting[0]
}

func (c *conn) queueIdle(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, busy := c.queues[name]
	return !busy
}

// addQueuedBytes counts the request bytes that wait in queues. The reader stops when there are too many (throttle).
func (c *conn) addQueuedBytes(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queuedBytes += bytes; bytes < 0 {
		c.broadcastFreed()
	}
}

// answer queues an answer for the writer.
func (c *conn) answer(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, line...)
	c.answered()
	c.wake()
}

// answered counts a request as done. The caller holds the lock.
func (c *conn) answered() {
	c.inFlight--
	c.broadcastFreed()
}

// answerAfter queues an answer that follows the exit frame of a process, if this connection follows the process.
func (c *conn) answerAfter(p *proc, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lateAnswers = append(c.lateAnswers, lateAnswer{p, line})
	c.lateBytes += len(line)
	c.answered()
	c.wake()
}

// follow starts sending the frames of a process, after the answers that are queued.
func (c *conn) follow(p *proc, from uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.replaced || c.ended {
		return
	}
	p.subscribers[c] = struct{}{}
	c.positions[p], c.unsent[p] = &position{cursor: cursor{next: from}}, true
	c.wake()
}

// framesReady wakes the writer because a process has new frames.
func (c *conn) framesReady(p *proc) {
	c.mu.Lock()
	c.unsent[p] = true
	c.mu.Unlock()
	c.wake()
}

// reattach replays the frames after from, sends the answer, and continues with live frames. The answer is made under
// the lock of the process, so that it agrees with the frames. reattach returns false if another process has taken the
// id.
func (c *conn) reattach(p *proc, from uint64, line func(reattachResult) []byte) (found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replaced {
		return false
	}
	r := reattachResult{Found: true, Running: p.running, Last: p.frames.last(), Applied: p.stdin.total()}
	if r.Last > 0 {
		r.First = p.frames.first()
	}
	job := reattachJob{from: max(from+1, p.frames.first()), to: r.Last, line: line(r)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return true
	}
	p.subscribers[c] = struct{}{}
	c.unsent[p] = true
	c.lateBytes += len(job.line)
	if old := c.positions[p]; old != nil && len(old.reattaches) > 0 {
		old.reattaches = append(old.reattaches, job)
	} else {
		if old != nil { // the replay also sends the frames that were not sent yet
			job.from = min(job.from, old.cursor.next)
		}
		// A new position: the writer drops what it is reading for the old one.
		c.positions[p] = &position{cursor{next: job.from}, []reattachJob{job}}
	}
	c.wake()
	return true
}

// forget stops following a process. The caller holds its lock. Pending reattaches are answered without their frames.
func (c *conn) forget(p *proc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pos := c.positions[p]; pos != nil {
		for _, j := range pos.reattaches {
			c.answers = append(c.answers, j.line...)
			c.lateBytes -= len(j.line)
			c.answered()
		}
	}
	delete(c.positions, p)
	c.wake()
}

func (c *conn) wake() {
	select {
	case c.wakeup <- struct{}{}:
	default:
	}
}
