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

// Work holds a server's connections, their requests and its own tasks. It ends in two steps, so that
// answers which are on their way still leave: Shut, then Cut.
type Work struct {
	Open context.Context // ends with Shut: no connection reads another request
	Ctx  context.Context // of requests; ends with Cut
	Log  *slog.Logger    // discards, where the configuration names none

	shut, cut context.CancelFunc
	tasks     sync.WaitGroup
	conns     atomic.Int64
	closing   atomic.Bool
}

// NewWork begins one.
func NewWork(log *slog.Logger) *Work {
	w := &Work{Log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	w.Ctx, w.cut = context.WithCancel(context.Background())
	w.Open, w.shut = context.WithCancel(w.Ctx)
	return w
}

// Go runs a task, which Wait and Drain wait for. Only a task, or the server's constructor, calls it.
func (w *Work) Go(task func()) { w.tasks.Go(task) }

// Accept serves the connections of a listener until that is closed, each in a goroutine, and closes them. All listeners
// together have at most so many; one more is given to full instead, if there is one. With most 0 there is no bound.
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

// Conns returns the number of connections that are served.
func (w *Work) Conns() int { return int(w.conns.Load()) }

// Shut ends Open. It reports whether it was the first to do so.
func (w *Work) Shut() bool {
	w.shut()
	return w.closing.CompareAndSwap(false, true)
}

// Cut ends Open and Ctx.
func (w *Work) Cut() { w.cut() }

// Wait waits until all tasks have ended, and no longer than most. It reports whether they have.
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

// Drain waits for the tasks, and cuts them off when the grace is over. The listeners have been closed.
func (w *Work) Drain(grace time.Duration) {
	hurry := time.AfterFunc(grace, w.cut)
	defer hurry.Stop()
	w.tasks.Wait()
	w.cut()
}
