package process

import "slices"

// maxJobs is how many replays go on at once.
const maxJobs = 16

// write is the connection's writer: it ends with the connection.
func (c *conn) write() {
	defer c.end()
	var buf []byte
	var file *fileBody // being sent: nothing comes between its pieces
	defer func() {
		if file != nil {
			file.file.Close()
		}
	}()
	for {
		var more, last bool
		if file == nil {
			buf, more, last = c.due(buf[:0])
			file = c.nextFile()
			more = more || file != nil
		} else {
			through, err := false, error(nil)
			if buf, through, err = file.next(buf[:0]); err != nil {
				c.s.log.Warn("[Server] file not read to its end: " + oneLine(err.Error()))
				return // half an answer is none
			}
			if more = true; through {
				c.sent(file)
				file = nil
			}
		}
		if len(buf) > 0 {
			n, err := c.nc.Write(buf)
			if err != nil {
				c.s.log.Debug("[Server] writeResponse: wrote " + itoa(n) + "/" + itoa(len(buf)) + " bytes, error=" + oneLine(err.Error()))
				return
			}
		}
		if cap(buf) > 4*slice {
			buf = nil
		}
		if more {
			continue
		}
		if last {
			return
		}
		select {
		case <-c.woken:
		case <-c.done:
			return
		}
	}
}

// nextFile is a file whose turn it is.
func (c *conn) nextFile() *fileBody {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.files) == 0 {
		return nil
	}
	f := c.files[0]
	c.files = c.files[1:]
	return f
}

// sent lets go of a file whose last piece is on its way.
func (c *conn) sent(f *fileBody) {
	f.file.Close()
	<-c.open
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	c.signalRoom()
}

// due collects what is to be sent next: all answers, and a slice of frames of each process. more says that there is
// more at once, last that there will be nothing any more.
func (c *conn) due(buf []byte) (_ []byte, more, last bool) {
	c.mu.Lock()
	buf, c.ready = c.ready, buf
	c.signalRoom()
	var jobs []*replayJob
	for _, j := range c.replays { // of several for one process, the first
		if len(jobs) < maxJobs && !slices.ContainsFunc(jobs, func(o *replayJob) bool { return o.p == j.p }) {
			jobs = append(jobs, j)
		}
	}
	var follow []*proc
	for p := range c.fresh { // in no order: no process is always the last
		follow = append(follow, p)
	}
	clear(c.fresh)
	c.mu.Unlock()

	answers := len(buf)
	for _, j := range jobs {
		var rest bool
		if buf, rest = c.replayOf(buf, j); rest {
			more = true
		}
	}
	for _, p := range follow {
		rest := true // too much for now: later
		if len(buf)-answers < maxReady/2 {
			buf, rest = c.liveOf(buf, p)
		}
		if rest {
			more = true
			c.mu.Lock()
			c.fresh[p] = true
			c.mu.Unlock()
		}
	}
	return c.late(buf, more)
}

// replayOf adds a slice of a replay, and the answer when it is through.
func (c *conn) replayOf(buf []byte, j *replayJob) (_ []byte, more bool) {
	start := len(buf)
	at, part, err := c.nextOf(j)
	if err == nil && at.next <= j.to {
		buf, at, err = part.read(buf, j.p.idJSON, slice)
	}
	j.p.mu.Lock()
	defer j.p.mu.Unlock()
	if j.p.replaced { // nothing of it is sent any more, but for the answer
		buf, at, err = buf[:start], cursor{next: j.to + 1}, nil
	}
	if err != nil {
		c.end()
		return buf[:start], false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	j.at = at
	if at.next <= j.to {
		return buf, true
	}
	buf = append(buf, j.line...)
	c.inFlight--
	c.signalRoom()
	c.replays = slices.DeleteFunc(c.replays, func(o *replayJob) bool { return o == j })
	if next := slices.IndexFunc(c.replays, func(o *replayJob) bool { return o.p == j.p }); next >= 0 {
		o := c.replays[next]
		o.at = cursor{next: min(o.at.next, j.to+1)}
	} else if !j.p.replaced {
		c.live[j.p], c.fresh[j.p] = &cursor{next: j.to + 1}, true
	}
	return buf, true
}

// nextOf is where a replay is, and what of it is next.
func (c *conn) nextOf(j *replayJob) (at cursor, part run, err error) {
	j.p.mu.Lock()
	defer j.p.mu.Unlock()
	c.mu.Lock()
	at = j.at
	c.mu.Unlock()
	if at.next <= j.to {
		part, err = j.p.frames.run(at, j.to)
	}
	return at, part, err
}

// liveOf adds a slice of a process's new frames.
func (c *conn) liveOf(buf []byte, p *proc) (_ []byte, more bool) {
	start := len(buf)
	at, part, err := c.newsOf(p)
	if at == nil { // a reattach took over, or the id is another's
		return buf, false
	}
	next := *at
	if err == nil && next.next <= part.to {
		buf, next, err = part.read(buf, p.idJSON, slice)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live[p] != at || p.replaced { // meanwhile: the reattach sends these frames, if anything does
		return buf[:start], false
	}
	if err != nil {
		c.end() // what it has not read is not there any more
		return buf[:start], false
	}
	*at = next
	if at.next <= p.frames.last() {
		return buf, true
	}
	if !p.running { // that was the exit frame
		delete(c.live, p)
		delete(p.subs, c)
	}
	return buf, false
}

// newsOf is where this connection is in a process it follows, nil where it does not, and what is next.
func (c *conn) newsOf(p *proc) (at *cursor, part run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	at = c.live[p]
	c.mu.Unlock()
	if at == nil || p.replaced {
		return nil, run{}, nil
	}
	if last := p.frames.last(); at.next <= last {
		part, err = p.frames.run(*at, last)
	}
	return at, part, err
}

// late adds the answers that waited for an exit frame which is now in buf, or which is not awaited any more.
func (c *conn) late(buf []byte, more bool) (_ []byte, _, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = slices.DeleteFunc(c.after, func(l lateAnswer) bool {
		if c.live[l.p] != nil || slices.ContainsFunc(c.replays, func(j *replayJob) bool { return j.p == l.p }) {
			return false
		}
		buf = append(buf, l.line...)
		return true
	})
	last = c.finish && len(c.ready) == 0 && len(c.replays) == 0 && len(c.after) == 0 && !more
	return buf, more || len(c.ready) > 0, last
}
