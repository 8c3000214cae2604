package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A Mode says how new an answer must be.
type Mode uint8

// The modes.
const (
	StaleMode        Mode = iota // what this node has applied
	AtIndexMode                  // at least an index, waited for
	LinearizableMode             // everything acknowledged before the question
)

// Freshness is what a read asks for.
type Freshness struct {
	Mode  Mode
	Index oplog.Index // for AtIndexMode
}

// freshness is what a request asks for.
func freshness(f api.Fresh) Freshness {
	switch {
	case f.Consistency == "linearizable":
		return Freshness{Mode: LinearizableMode}
	case f.MinIndex > 0:
		return Freshness{Mode: AtIndexMode, Index: oplog.Index(f.MinIndex)}
	}
	return Stale
}

// Stale answers at once with what this node has.
var Stale = Freshness{}

// maxFreshWait bounds how long a read waits for freshness when its context does not.
const maxFreshWait = 10 * time.Second

// fresh waits until this node may answer.
func (s *Service) fresh(ctx context.Context, f Freshness) error {
	if f.Mode == StaleMode {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxFreshWait)
	defer cancel()
	at := f.Index
	if f.Mode == LinearizableMode {
		var i uint64
		err := s.isOpen(ctx)
		if err == nil {
			i, err = s.raft.ReadIndex(ctx)
		}
		if err != nil {
			return &oplog.Error{Kind: oplog.Unavailable, Text: "no leader confirmed its leadership; a stale read would be answered", Err: err}
		}
		at = oplog.Index(i)
	}
	if err := s.waitIndexed(ctx, at); err != nil {
		return oplog.Errorf(oplog.Unavailable, "this node is at log index %d and has not reached %d", s.machine.indexed.get(), at)
	}
	return nil
}
