package process

import (
	"bufio"
	"bytes"
)

// read dispatches requests until the stream ends. It reports whether the stream ended cleanly, so that the remaining
// answers are sent.
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

// splitNonEmpty is like bufio.ScanLines, but skips empty lines. A run of empty lines costs one call, and takes no
// buffer space from the incomplete line after it.
func splitNonEmpty(data []byte, atEOF bool) (advance int, token []byte, err error) {
	line := bytes.TrimLeft(data, "\n")
	advance, token, err = bufio.ScanLines(line, atEOF)
	return len(data) - len(line) + advance, token, err
}

// turnReader reads from a connection. If a read fills the buffer, the client has much to send and must wait for a
// turn. All clients with a turn together use at most a quarter of the processors.
type turnReader struct {
	c       *conn
	endTurn func() // ends the turn; nil without one
}

func (t *turnReader) Read(b []byte) (n int, err error) {
	t.release()
	if n, err = t.c.nc.Read(b); err == nil && n == len(b) {
		t.endTurn, err = t.c.s.turns.Take(t.c.s.Ctx)
	}
	return n, err
}

// decode calls handle with a line, in a turn if the line is large. It returns false if the server stops first.
func (t *turnReader) decode(line []byte, handle func([]byte)) bool {
	if t.endTurn != nil {
		handle(line)
		return true
	}
	return t.c.s.turns.Decode(t.c.s.Ctx, len(line), func() error { handle(line); return nil }) == nil
}

func (t *turnReader) release() {
	if t.endTurn != nil {
		t.endTurn()
		t.endTurn = nil
	}
}

// throttle waits while too many requests or answers of this client are pending. It calls beforeWait before each wait.
func (c *conn) throttle(beforeWait func()) bool {
	for {
		c.mu.Lock()
		ok := c.inFlight < maxInFlight && len(c.answers)+c.lateBytes < maxAnswerBytes && c.queuedBytes < maxQueuedBytes
		freed := c.freed
		c.mu.Unlock()
		if ok {
			return true
		}
		beforeWait()
		select {
		case <-freed:
		case <-c.done:
			return false
		}
	}
}

// broadcastFreed wakes the reader, because a request or answer is done. The caller holds the lock.
func (c *conn) broadcastFreed() {
	close(c.freed)
	c.freed = make(chan struct{})
}
