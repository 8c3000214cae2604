package process

import (
	"maps"
	"slices"
)

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
				c.s.Log.Warn("[Server] file not read to its end: " + oneLine(err.Error()))
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
				c.s.Log.Debug("[Server] writeResponse: wrote " + itoa(n) + "/" + itoa(len(buf)) + " bytes, error=" + oneLine(err.Error()))
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

// sent closes a file whose last piece is in the buffer, and frees its place.
func (c *conn) sent(f *fileBody) {
	f.file.Close()
	<-c.open
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered()
}

// due collects the next bytes to send: all answers, and a slice of frames of each process. more says that there is
// more at once, last that there will be nothing any more.
func (c *conn) due(buf []byte) (_ []byte, more, last bool) {
	c.mu.Lock()
	buf, c.ready = c.ready, buf
	c.signalRoom()
	follow := slices.Collect(maps.Keys(c.fresh)) // in no order: no process is always the last
	clear(c.fresh)
	c.mu.Unlock()

	answers := len(buf)
	for _, p := range follow {
		rest := true // too much for now: later
		if len(buf)-answers < maxReady/2 {
			buf, rest = c.framesOf(buf, p)
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

// framesOf adds a slice of a process's frames, or the answer to a reattach whose frames are through. The frames are
// read without a lock; when the place has changed meanwhile they are not sent.
func (c *conn) framesOf(buf []byte, p *proc) (_ []byte, more bool) {
	start := len(buf)
	pl, part, err := c.nextOf(p)
	if pl == nil { // the id is another process's, or the exit frame is sent
		return buf, false
	}
	at := part.at
	if err == nil && at.next <= part.to {
		buf, at, err = part.read(buf, p.idJSON, slice)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.places[p] != pl { // a reattach sends these frames, if anything does
		return buf[:start], false
	}
	if err != nil {
		c.end() // what it has not read is not there any more
		return buf[:start], false
	}
	pl.at = at
	switch {
	case at.next <= part.to:
		return buf, true
	case len(pl.reattaches) > 0:
		return append(buf, c.passed(pl)...), true
	case at.next <= p.frames.last():
		return buf, true
	case !p.running: // that was the exit frame
		delete(c.places, p)
		delete(p.subs, c)
	}
	return buf, false
}

// passed ends a place's first reattach and returns its answer; the lock is held.
func (c *conn) passed(pl *place) (line []byte) {
	done := pl.reattaches[0]
	pl.reattaches = pl.reattaches[1:]
	pl.at = cursor{next: done.to + 1}
	if len(pl.reattaches) > 0 {
		pl.at.next = min(pl.at.next, pl.reattaches[0].from)
	}
	c.behind -= len(done.line)
	c.answered()
	return done.line
}

// nextOf is this connection's place in a process, nil where it follows none, and the frames that are next there.
func (c *conn) nextOf(p *proc) (pl *place, part run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if pl = c.places[p]; pl == nil {
		return nil, run{}, nil
	}
	part = run{at: pl.at, to: p.frames.last()}
	if len(pl.reattaches) > 0 {
		part.to = pl.reattaches[0].to
	}
	if part.at.next <= part.to {
		part, err = p.frames.run(part.at, part.to)
	}
	return pl, part, err
}

// late adds the answers that waited for an exit frame which is now in buf, or which is not awaited any more.
func (c *conn) late(buf []byte, more bool) (_ []byte, _, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after = slices.DeleteFunc(c.after, func(l lateAnswer) bool {
		if c.places[l.p] != nil {
			return false
		}
		buf = append(buf, l.line...)
		c.behind -= len(l.line)
		c.signalRoom()
		return true
	})
	last = c.finish && len(c.ready) == 0 && len(c.after) == 0 && !more
	return buf, more || len(c.ready) > 0, last
}
