package process

import (
	"maps"
	"slices"
)

// write sends answers and frames until the connection ends.
func (c *conn) write() {
	defer c.end()
	var buf []byte
	var file *fileBody // being sent: nothing is sent between its pieces
	defer func() {
		if file != nil {
			file.file.Close()
		}
	}()
	for {
		var more, last bool
		if file == nil {
			buf, more, last = c.collect(buf[:0])
			file = c.nextFile()
			more = more || file != nil
		} else {
			done, err := false, error(nil)
			if buf, done, err = file.next(buf[:0]); err != nil {
				c.s.Log.Warn("[Server] file not read to its end: " + oneLine(err.Error()))
				return // the answer is incomplete, so the connection ends
			}
			if more = true; done {
				c.finishFile(file)
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
		if cap(buf) > 4*batchBytes {
			buf = nil
		}
		if more {
			continue
		}
		if last {
			return
		}
		select {
		case <-c.wakeup:
		case <-c.done:
			return
		}
	}
}

// nextFile removes the next file from the queue.
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

// finishFile closes a file whose last piece is in the buffer, and releases its slot.
func (c *conn) finishFile(f *fileBody) {
	f.file.Close()
	<-c.fileSlots
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered()
}

// collect returns the next bytes to send: all answers, and a batch of frames of each followed process. more reports
// that there is more to send now; last, that nothing more will come.
func (c *conn) collect(buf []byte) (_ []byte, more, last bool) {
	c.mu.Lock()
	buf, c.answers = c.answers, buf
	c.broadcastFreed()
	follow := slices.Collect(maps.Keys(c.unsent)) // in random order, so that no process is always last
	clear(c.unsent)
	c.mu.Unlock()

	answers := len(buf)
	for _, p := range follow {
		unsent := true // true if the buffer is full
		if len(buf)-answers < maxAnswerBytes/2 {
			buf, unsent = c.appendFrames(buf, p)
		}
		if unsent {
			more = true
			c.mu.Lock()
			c.unsent[p] = true
			c.mu.Unlock()
		}
	}
	return c.appendLate(buf, more)
}

// appendFrames appends a batch of frames of a process, or the answer of a reattach after its last frame. It reads the
// frames without a lock, and drops them if the position has changed meanwhile.
func (c *conn) appendFrames(buf []byte, p *proc) (_ []byte, more bool) {
	start := len(buf)
	pos, part, err := c.nextFrames(p)
	if pos == nil { // another process has the id, or the exit frame was sent
		return buf, false
	}
	at := part.start
	if err == nil && at.next <= part.to {
		buf, at, err = part.read(buf, p.idJSON, batchBytes)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.positions[p] != pos { // a reattach has replaced the position and sends these frames
		return buf[:start], false
	}
	if err != nil {
		c.end() // frames that the client has not received were dropped
		return buf[:start], false
	}
	pos.cursor = at
	switch {
	case at.next <= part.to:
		return buf, true
	case len(pos.reattaches) > 0:
		return append(buf, c.finishReattach(pos)...), true
	case at.next <= p.frames.last():
		return buf, true
	case !p.running: // the exit frame was sent
		delete(c.positions, p)
		delete(p.subscribers, c)
	}
	return buf, false
}

// finishReattach removes the first reattach of a position and returns its answer. The caller holds the lock.
func (c *conn) finishReattach(pos *position) (line []byte) {
	done := pos.reattaches[0]
	pos.reattaches = pos.reattaches[1:]
	pos.cursor = cursor{next: done.to + 1}
	if len(pos.reattaches) > 0 {
		pos.cursor.next = min(pos.cursor.next, pos.reattaches[0].from)
	}
	c.lateBytes -= len(done.line)
	c.answered()
	return done.line
}

// nextFrames returns the position of this connection in a process, nil if it does not follow it, and the next frames.
func (c *conn) nextFrames(p *proc) (pos *position, part frameRange, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if pos = c.positions[p]; pos == nil {
		return nil, frameRange{}, nil
	}
	part = frameRange{start: pos.cursor, to: p.frames.last()}
	if len(pos.reattaches) > 0 {
		part.to = pos.reattaches[0].to
	}
	if part.start.next <= part.to {
		part, err = p.frames.nextRange(part.start, part.to)
	}
	return pos, part, err
}

// appendLate appends the answers that waited for an exit frame, if the frame is in buf or the connection no longer
// follows the process.
func (c *conn) appendLate(buf []byte, more bool) (_ []byte, _, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lateAnswers = slices.DeleteFunc(c.lateAnswers, func(l lateAnswer) bool {
		if c.positions[l.p] != nil {
			return false
		}
		buf = append(buf, l.line...)
		c.lateBytes -= len(l.line)
		c.broadcastFreed()
		return true
	})
	last = c.draining && len(c.answers) == 0 && len(c.lateAnswers) == 0 && !more
	return buf, more || len(c.answers) > 0, last
}
