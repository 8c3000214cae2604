package serve

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// dial connects to a listener and waits for a byte that its server sends.
func dial(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// first reads the first byte that a client receives. The error is io.EOF if there is none.
func first(t *testing.T, c net.Conn) string {
	t.Helper()
	var b [1]byte
	if _, err := io.ReadFull(c, b[:]); err == io.EOF {
		return ""
	} else if err != nil {
		t.Fatal(err)
	}
	return string(b[:])
}

// TestConnectionsAreBounded: a connection over the limit goes to full. When another one ends, a new one is served.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWork(nil)
	say := func(text string) func(net.Conn) { return func(c net.Conn) { _, _ = io.WriteString(c, text) } }
	w.Accept(ln, "test", 1, func(c net.Conn) {
		say("s")(c)
		_, _ = io.Copy(io.Discard, c) // until the client closes
	}, say("f"))
	one := dial(t, ln)
	if got := first(t, one); got != "s" {
		t.Fatalf("the first client reads %q", got)
	}
	if got := first(t, dial(t, ln)); got != "f" {
		t.Errorf("a client over the bound reads %q", got)
	}
	one.Close()
	suite.Eventually(t, "there is room again", func() bool { return w.Conns() == 0 })
	two := dial(t, ln)
	if got := first(t, two); got != "s" {
		t.Errorf("after the first has left, a client reads %q", got)
	}
	two.Close()
	ln.Close()
	w.Drain(time.Minute)
}

// TestWorkEndsInTwoSteps: StopReading ends Open, Drain cancels the requests after the grace period and waits for the
// tasks.
func TestWorkEndsInTwoSteps(t *testing.T) {
	t.Parallel()
	w := NewWork(nil)
	shut := make(chan struct{})
	w.Go(func() {
		<-w.Open.Done()
		close(shut)
		<-w.Ctx.Done()
	})
	if !w.StopReading() || w.StopReading() {
		t.Error("only the first StopReading returns true")
	}
	suite.Receive(t, "the end of Open", shut)
	if w.Ctx.Err() != nil {
		t.Error("StopReading canceled the requests")
	}
	if w.Wait(time.Millisecond) {
		t.Error("Wait returned before the task did")
	}
	w.Drain(time.Millisecond)
	if w.Ctx.Err() == nil || !w.Wait(time.Minute) {
		t.Error("Drain returned before the end")
	}
}
