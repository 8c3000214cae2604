package process

import (
	"bufio"
	"bytes"
)

// read dispatches requests until the stream ends. It reports whether their answers are still to be sent.
func (c *conn) read() (answered bool) {
	turn := &turnReader{c: c}
	defer turn.release()
	in := bufio.NewScanner(turn)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	in.Split(splitNonEmpty)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		if !turn.decode(in.Bytes(), c.dispatch) || !c.throttle(turn.release) {
			return false
		}
	}
	return in.Err() == nil
}

// splitNonEmpty is like bufio.ScanLines, but skips empty lines. Many empty lines in a read cost one call, and take no
// buffer space from the incomplete line after them.
func splitNonEmpty(data []byte, atEOF bool) (advance int, token []byte, err error) {
	line := bytes.TrimLeft(data, "\n")
	advance, token, err = bufio.ScanLines(line, atEOF)
	return len(data) - len(line) + advance, token, err
}

// turnReader reads from a connection. A client that fills the read buffer waits for a turn, together with all such
// clients: so they use at most a quarter of the processors.
type turnReader struct {
	c    *conn
	done func() // ends the turn; nil without one
}

func (t *turnReader) Read(b []byte) (n int, err error) {
	t.release()
	if n, err = t.c.nc.Read(b); err == nil && n == len(b) {
		t.done, err = t.c.s.turns.Take(t.c.s.Ctx)
	}
	return n, err
}

// decode calls take with a line, in a turn if the line is large. It returns false if the server stops first.
func (t *turnReader) decode(line []byte, take func([]byte)) bool {
	if t.done != nil {
		take(line)
		return true
	}
	return t.c.s.turns.Decode(t.c.s.Ctx, len(line), func() error { take(line); return nil }) == nil
}

func (t *turnReader) release() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}

// throttle waits while too many requests or answers of this client are pending. It calls waits before each wait.
func (c *conn) throttle(waits func()) bool {
	for {
		c.mu.Lock()
		ok := c.inFlight < maxInFlight && len(c.answers)+c.lateBytes < maxAnswerBytes && c.queuedBytes < maxQueuedBytes
		room := c.room
		c.mu.Unlock()
		if ok {
			return true
		}
		waits()
		select {
		case <-room:
		case <-c.done:
			return false
		}
	}
}

// broadcastRoom wakes the reader, because there may be room for more requests. The caller holds the lock.
func (c *conn) broadcastRoom() {
	close(c.room)
	c.room = make(chan struct{})
}
