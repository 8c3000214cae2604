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

// Work tracks the connections, requests and tasks of a server, and stops them in two steps. After StopReading no
// connection reads another request. After Cancel the running requests are canceled. Answers can be sent in between.
type Work struct {
	Open context.Context // ends with StopReading: no connection reads another request
	Ctx  context.Context // of requests; ends with Cancel
	Log  *slog.Logger    // never nil

	stopReading, cancel context.CancelFunc
	tasks               sync.WaitGroup
	conns               atomic.Int64
	closing             atomic.Bool
}

// NewWork returns a running Work. A nil log discards all messages.
func NewWork(log *slog.Logger) *Work {
	w := &Work{Log: cmp.Or(log, slog.New(slog.DiscardHandler))}
	w.Ctx, w.cancel = context.WithCancel(context.Background())
	w.Open, w.stopReading = context.WithCancel(w.Ctx)
	return w
}

// Go runs a task. Wait and Drain wait for it. Only a running task, or the constructor of the server, may call Go.
func (w *Work) Go(task func()) { w.tasks.Go(task) }

// Accept serves the connections of a listener, each in a goroutine, and closes them. It stops when the listener is
// closed. All listeners together serve at most limit connections at a time; 0 means no limit. A connection over the
// limit goes to full, if full is not nil.
func (w *Work) Accept(ln net.Listener, surface string, limit int64, serve, full func(net.Conn)) {
	w.Go(func() {
		for p := accept.Patiently(ln, surface, w.Log); ; {
			c, err := p.Accept()
			if err != nil {
				return
			}
			w.Go(func() {
				defer c.Close()
				if n := w.conns.Add(1); limit == 0 || n <= limit {
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

// StopReading ends Open. It reports whether this call was the first.
func (w *Work) StopReading() bool {
	w.stopReading()
	return w.closing.CompareAndSwap(false, true)
}

// Cancel ends Open and Ctx.
func (w *Work) Cancel() { w.cancel() }

// Wait waits for all tasks until the timeout, and reports whether they have ended.
func (w *Work) Wait(timeout time.Duration) bool {
	done := make(chan struct{})
	go func() { w.tasks.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(timeout):
		return false
	}
}

// Drain waits for all tasks, and cancels them after the grace period. The caller has closed the listeners before.
func (w *Work) Drain(grace time.Duration) {
	timer := time.AfterFunc(grace, w.cancel)
	defer timer.Stop()
	w.tasks.Wait()
	w.cancel()
}
