package commit

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
)

// A step is the follow task's next piece of work: it takes outcomes into the index, or rebuilds the index from a
// restored state.
type step struct {
	upTo     oplog.Index
	outcomes []oplog.Outcome
	size     int // of their records
	restored bool
}

// How far the index may fall behind before Apply waits for it: in batches, and in bytes of their records.
const (
	followQueue = 1024
	followBytes = 16 << 20
)

// enqueue passes the next step to the follow task. It blocks raft while the index lags too far behind. Only raft's
// goroutine calls it.
func (m *machine) enqueue(s step) {
	for n := m.queuedBytes.Load(); n > 0 && n+int64(s.size) > followBytes; n = m.queuedBytes.Load() {
		select {
		case <-m.queueShrunk:
		case <-m.stop:
			return
		}
	}
	m.queuedBytes.Add(int64(s.size))
	select {
	case m.queue <- s:
	case <-m.stop:
	}
}

// followApplied is the task that brings the index and the subscribers up to the state.
func (m *machine) followApplied(ctx context.Context) error {
	for s := range pause.Received(ctx.Done(), m.queue) {
		for err := m.follow(ctx, s); err != nil; err = m.follow(ctx, s) {
			if !m.opts.Disk.Caused(err) || !m.opts.Disk.Wait(ctx.Done()) {
				return err
			}
			m.opts.Logger.Warn("disk full, the index waits", "index", s.upTo, "err", err)
			s.restored = true // how much of the step the index took is not known: it is rebuilt
		}
		m.queuedBytes.Add(-int64(s.size))
		pause.Offer(m.queueShrunk, struct{}{})
	}
	return ctx.Err()
}

func (m *machine) follow(ctx context.Context, s step) error {
	start := time.Now()
	defer func() { m.indexTime.Add(int64(time.Since(start))) }()
	if s.restored {
		if _, err := m.index.Rebuild(ctx); err != nil {
			return err
		}
	} else if err := m.index.Follow(ctx, s.outcomes); err != nil {
		return fmt.Errorf("index: %w", err)
	}
	m.opts.Observe(s.outcomes, s.restored)
	m.indexed.advance(s.upTo)
	if s.restored {
		m.feed.dropAll()
	}
	m.feed.publish(s.outcomes, s.size)
	return nil
}
