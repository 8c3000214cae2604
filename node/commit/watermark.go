package commit

import (
	"context"
	"sync"

	"github.com/cairndb/cairn/oplog"
)

// watermark is an index that only grows, and that goroutines wait for.
type watermark struct {
	mu    sync.Mutex
	at    oplog.Index
	moved chan struct{} // closed at the next advance; nil while no goroutine waits
}

func (w *watermark) get() oplog.Index {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *watermark) advance(i oplog.Index) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i <= w.at {
		return
	}
	w.at = i
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

// wait returns when the watermark is at i or past it.
func (w *watermark) wait(ctx context.Context, i oplog.Index) error {
	for {
		w.mu.Lock()
		if w.at >= i {
			w.mu.Unlock()
			return nil
		}
		if w.moved == nil {
			w.moved = make(chan struct{})
		}
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
