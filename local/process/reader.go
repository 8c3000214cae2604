package process

import (
	"bufio"
	"bytes"
)

// read dispatches requests until there are no more, and reports whether their answers are still to be sent.
func (c *conn) read() (answered bool) {
	turn := &inTurn{c: c}
	defer turn.leave()
	in := bufio.NewScanner(turn)
	in.Buffer(make([]byte, 0, 4096), maxLine)
	in.Split(cutLine)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		if !turn.decode(in.Bytes(), c.dispatch) || !c.throttle(turn.leave) {
			return false
		}
	}
	return in.Err() == nil
}

// cutLine is bufio.ScanLines without empty lines: a million of them in a read cost one call, and they take no room from
// the line behind them, which may not be there as a whole.
func cutLine(data []byte, atEOF bool) (advance int, token []byte, err error) {
	line := bytes.TrimLeft(data, "\n")
	advance, token, err = bufio.ScanLines(line, atEOF)
	return len(data) - len(line) + advance, token, err
}

// inTurn is a connection whose client may never stop. A client that sends more than there is room for is read in turn
// with the others that do: together they have a quarter of the processors.
type inTurn struct {
	c    *conn
	done func() // ends the turn; nil for none
}

func (t *inTurn) Read(b []byte) (n int, err error) {
	t.leave()
	if n, err = t.c.nc.Read(b); err == nil && n == len(b) {
		t.done, err = t.c.s.turns.Take(t.c.s.Ctx)
	}
	return n, err
}

// decode has a line taken, in a turn when it is large. It says no when the server ends before that.
func (t *inTurn) decode(line []byte, take func([]byte)) bool {
	if t.done != nil {
		take(line)
		return true
	}
	return t.c.s.turns.Decode(t.c.s.Ctx, len(line), func() error { take(line); return nil }) == nil
}

func (t *inTurn) leave() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}

// throttle waits while too much is under way for this client, and says so before.
func (c *conn) throttle(waits func()) bool {
	for {
		c.mu.Lock()
		ok := c.inFlight < maxInFlight && len(c.ready)+c.behind < maxReady && c.parked < maxParked
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

// signalRoom tells the reader that there may be room; the lock is held.
func (c *conn) signalRoom() {
	close(c.room)
	c.room = make(chan struct{})
}
