package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/wire/accept"
)

// Work tracks the connections, requests and tasks of a server. It stops in two steps: after Shut no connection reads
// another request, and after Cut the running requests are canceled. Answers can be sent in between.
type Work struct {
	Open context.Context // ends with Shut: no connection reads another request
	Ctx  context.Context // of requests; ends with Cut
	Log  *slog.Logger    // never nil

	shut, cut context.CancelFunc
	tasks     sync.WaitGroup
	conns     atomic.Int64
	closing   atomic.Bool
}

// NewWork returns a running Work. A nil log discards.
func NewWork(log *slog.Logger) *Work {
	w := &Work{Log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	w.Ctx, w.cut = context.WithCancel(context.Background())
	w.Open, w.shut = context.WithCancel(w.Ctx)
	return w
}

// Go runs a task. Wait and Drain wait for it. Only another task, or the constructor of the server, may call Go.
func (w *Work) Go(task func()) { w.tasks.Go(task) }

// Accept serves the connections of a listener, each in a goroutine, and closes them. It ends when the listener is
// closed. All listeners together serve at most `most` connections, or any number if most is 0. A connection over the
// limit goes to full, if full is not nil.
func (w *Work) Accept(ln net.Listener, surface string, most int64, serve, full func(net.Conn)) {
	w.Go(func() {
		for p := accept.Patiently(ln, surface, w.Log); ; {
			c, err := p.Accept()
			if err != nil {
				return
			}
			w.Go(func() {
				defer c.Close()
				if n := w.conns.Add(1); most == 0 || n <= most {
					defer w.conns.Add(-1)
					serve(c)
					return
				}
				w.conns.Add(-1)
				if full != nil {
					full(c)
				}
			})
		}
	})
}

// Conns returns the number of open connections.
func (w *Work) Conns() int { return int(w.conns.Load()) }

// Shut ends Open. It reports whether this call was the first.
func (w *Work) Shut() bool {
	w.shut()
	return w.closing.CompareAndSwap(false, true)
}

// Cut ends Open and Ctx.
func (w *Work) Cut() { w.cut() }

// Wait waits for all tasks, but at most for the given time. It reports whether they have ended.
func (w *Work) Wait(most time.Duration) bool {
	done := make(chan struct{})
	go func() { w.tasks.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(most):
		return false
	}
}

// Drain waits for all tasks and cancels them after the grace period. The caller has closed the listeners.
func (w *Work) Drain(grace time.Duration) {
	hurry := time.AfterFunc(grace, w.cut)
	defer hurry.Stop()
	w.tasks.Wait()
	w.cut()
}
