package process

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// conn is one client. Its reader dispatches requests, its writer sends answers first, then frames of the
// processes it follows, which it takes from their stores at its own pace.
type conn struct {
	s  *Server
	nc net.Conn

	mu       sync.Mutex
	ready    []byte           // answers, as lines
	places   map[*proc]*place // in the processes it follows
	fresh    map[*proc]bool   // those of places that may have something to send
	after    []lateAnswer
	files    []*fileBody         // answers that are read as they are sent
	lanes    map[string][]func() // requests that wait, behind the one of their lane that runs
	inFlight int
	parked   int  // bytes of lines that wait in a lane
	behind   int  // bytes of answers that wait for frames to be sent
	finish   bool // the client has ended its side: the writer sends the last answers, then closes
	ended    bool // nothing is sent any more
	room     chan struct{}
	open     chan struct{} // a place for each file in files, or on the way there
	woken    chan struct{}
	done     chan struct{} // closed when the connection ends
	once     sync.Once
}

// place holds the position of a connection in a process's frames. The writer sends the frames of the first reattach,
// its answer, those of the next, and behind the last one new frames as they come.
type place struct {
	at         cursor
	reattaches []reattachJob
}

// reattachJob is a reattach that is to be answered behind the frames from..to.
type reattachJob struct {
	from, to uint64
	line     []byte
}

// lateAnswer waits until the connection has sent a process's exit frame, if it follows it.
type lateAnswer struct {
	p    *proc
	line []byte
}

const (
	maxLine     = 1 << 20 // with its newline
	maxInFlight = 1024
	maxReady    = 8 << 20
	maxParked   = 16 << 20
	maxFiles    = 4
	slice       = 256 << 10 // of frames between two looks at the answers
	halfClosed  = 15 * time.Second
)

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{s: s, nc: nc, places: map[*proc]*place{}, fresh: map[*proc]bool{}, lanes: map[string][]func(){}, room: make(chan struct{}),
		open: make(chan struct{}, maxFiles), woken: make(chan struct{}, 1), done: make(chan struct{})}
}

// end closes the connection; any goroutine may call it, any number of times.
func (c *conn) end() {
	c.once.Do(func() {
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
	followed := slices.Collect(maps.Keys(c.places))
	for _, f := range c.files {
		f.file.Close()
	}
	c.mu.Unlock()
	for _, p := range followed {
		p.mu.Lock()
		delete(p.subs, c)
		p.mu.Unlock()
	}
}

// drain waits, not for ever, until all that was asked is answered and sent.
func (c *conn) drain() {
	due := time.NewTimer(halfClosed)
	defer due.Stop()
	for {
		c.mu.Lock()
		idle, room := c.inFlight == 0, c.room
		c.finish = c.finish || idle
		c.mu.Unlock()
		if idle {
			c.wake()
			select {
			case <-c.done: // by the writer, when it is through
			case <-due.C:
			}
			return
		}
		select {
		case <-room:
		case <-c.done:
			return
		case <-due.C:
			return
		}
	}
}

// dispatch checks a request and starts it.
func (c *conn) dispatch(line []byte) {
	c.mu.Lock()
	c.inFlight++
	c.mu.Unlock()
	r, err := c.s.parse(line)
	var m method
	if err == nil {
		m, err = c.s.find(r.Method)
	}
	if err != nil {
		c.answer(answer(r.ID, nil, err))
		return
	}
	if m.plain != nil {
		size, do := len(line), m.run(r.Params)
		c.park(size)
		c.work(r.ID, func() {
			defer c.park(-size)
			c.plain(r.ID, do, m.files)
		})
		return
	}
	process, do := m.process(r.Params)
	k := &call{c: c, s: c.s, id: r.ID, size: len(line)}
	c.park(k.size)
	c.enqueue("process/"+process, func() {
		defer c.recovered(r.ID)
		defer func() {
			if !k.moved {
				c.park(-k.size)
			}
		}()
		do(k)
	})
}

// plain runs a method that needs no order, and may give a file.
func (c *conn) plain(id any, do func(*Server) (any, error), files bool) {
	if files {
		select {
		case c.open <- struct{}{}:
		case <-c.done:
			return
		}
	}
	result, err := do(c.s)
	switch body := result.(type) {
	case silence: // the connection is about to end
		return
	case *fileBody:
		body.line(id)
		c.send(body)
		return
	}
	if files {
		<-c.open
	}
	c.answer(answer(id, result, err))
}

// send has the writer send a file.
func (c *conn) send(f *fileBody) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		f.file.Close()
		return
	}
	c.files = append(c.files, f)
	c.wake()
}

// work runs f concurrently with everything else.
func (c *conn) work(id any, f func()) {
	c.s.Go(func() {
		defer c.recovered(id)
		f()
	})
}

func (c *conn) recovered(id any) {
	if v := recover(); v != nil {
		c.answer(answer(id, nil, refuse(codeInternal, "recovered panic: %v", v)))
	}
}

// enqueue runs f after the requests that are in the lane: they take effect one after the other.
func (c *conn) enqueue(name string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, busy := c.lanes[name]; busy {
		c.lanes[name] = append(waiting, f)
		return
	}
	c.lanes[name] = nil
	c.s.Go(func() {
		for ; f != nil; f = c.nextIn(name) {
			f()
		}
	})
}

// nextIn is the next request of a lane; without one the lane ends.
func (c *conn) nextIn(name string) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.lanes[name]
	if len(waiting) == 0 {
		delete(c.lanes, name)
		return nil
	}
	c.lanes[name] = waiting[1:]
	return waiting[0]
}

func (c *conn) idle(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, busy := c.lanes[name]
	return !busy
}

// park counts the bytes of lines that wait in a lane, so that throttle stops reading from a client which sends faster
// than is served.
func (c *conn) park(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parked += bytes; bytes < 0 {
		c.signalRoom()
	}
}

// answer sends a line.
func (c *conn) answer(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = append(c.ready, line...)
	c.answered()
	c.wake()
}

// answered counts a request as done; the lock is held.
func (c *conn) answered() {
	c.inFlight--
	c.signalRoom()
}

// answerAfter sends a line behind the last frame of a process that has ended, where this connection follows it.
func (c *conn) answerAfter(p *proc, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = append(c.after, lateAnswer{p, line})
	c.behind += len(line)
	c.answered()
	c.wake()
}

// follow begins to send a process's frames, behind the answers that are ready.
func (c *conn) follow(p *proc, from uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.replaced || c.ended {
		return
	}
	p.subs[c] = struct{}{}
	c.places[p], c.fresh[p] = &place{at: cursor{next: from}}, true
	c.wake()
}

// news tells the writer that a process it follows has frames.
func (c *conn) news(p *proc) {
	c.mu.Lock()
	c.fresh[p] = true
	c.mu.Unlock()
	c.wake()
}

// reattach replays frames behind from, sends the answer, and goes on with live frames. The answer is one snapshot. It
// does nothing when the id is another process's.
func (c *conn) reattach(p *proc, from uint64, line func(reattachResult) []byte) (found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replaced {
		return false
	}
	r := reattachResult{Found: true, Running: p.running, Last: p.frames.last(), Applied: p.in.total()}
	if r.Last > 0 {
		r.First = p.frames.first()
	}
	job := reattachJob{from: max(from+1, p.frames.first()), to: r.Last, line: line(r)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return true
	}
	p.subs[c] = struct{}{}
	c.fresh[p] = true
	c.behind += len(job.line)
	if old := c.places[p]; old != nil && len(old.reattaches) > 0 {
		old.reattaches = append(old.reattaches, job)
	} else {
		if old != nil { // what it was about to be sent comes with the replay
			job.from = min(job.from, old.at.next)
		}
		c.places[p] = &place{cursor{next: job.from}, []reattachJob{job}} // a new one: the writer does not send what it is reading for the old one
	}
	c.wake()
	return true
}

// forget stops following a process; its lock is held. Reattaches that wait for frames are answered without them.
func (c *conn) forget(p *proc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pl := c.places[p]; pl != nil {
		for _, j := range pl.reattaches {
			c.ready = append(c.ready, j.line...)
			c.behind -= len(j.line)
			c.answered()
		}
	}
	delete(c.places, p)
	c.wake()
}

func (c *conn) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}
