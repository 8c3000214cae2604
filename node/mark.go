package node

import (
	"context"
	"sync"

	"github.com/cairndb/cairn/oplog"
)

// mark is an index that only grows, and can be waited for.
type mark struct {
	mu    sync.Mutex
	at    oplog.Index
	moved chan struct{} // closed at the next move; nil when nobody waits
}

func (m *mark) get() oplog.Index {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *mark) set(i oplog.Index) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i <= m.at {
		return
	}
	m.at = i
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

// wait returns when the mark is at i or past it.
func (m *mark) wait(ctx context.Context, i oplog.Index) error {
	for {
		m.mu.Lock()
		if m.at >= i {
			m.mu.Unlock()
			return nil
		}
		if m.moved == nil {
			m.moved = make(chan struct{})
		}
		moved := m.moved
		m.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
