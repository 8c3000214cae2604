package engine

import (
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// setExpiry sets the expiry of a new memory: the time in its draft, or the database's default. If the draft gives no
// time but each read renews the memory, it lasts as long as after a read.
func (s *Service) setExpiry(op *oplog.Remember, d *api.Draft, usual oplog.Time) error {
	at, err := s.expiry("ttl", "expires_at", d.TTL, op.Expires)
	if err != nil {
		return err
	}
	if err := checkFinite("refresh_on_read", op.Refresh); err != nil {
		return err
	}
	switch {
	case at != nil:
		op.Expires = *at
	case op.Was != nil: // an imported memory lasts as long as its export says
	case op.Refresh > 0:
		op.Expires = s.fromNow(op.Refresh)
	case usual > 0:
		op.Expires = oplog.At(s.now()) + usual
	}
	return nil
}

// expiry returns the time that a request gives, as a time or as seconds from now; 0 for never, nil if it gives none.
func (s *Service) expiry(ttlName, atName string, ttl *float64, at oplog.Time) (*oplog.Time, error) {
	switch {
	case ttl == nil && at == 0:
		return nil, nil
	case ttl == nil:
		return &at, nil
	case at != 0:
		return nil, oplog.Errorf(oplog.Invalid, "%s and %s exclude each other", ttlName, atName)
	case !(*ttl >= 0): // negative, or NaN
		return nil, oplog.Errorf(oplog.Invalid, "%s must not be negative", ttlName)
	case *ttl == 0:
		return new(oplog.Time(0)), nil
	}
	return new(s.fromNow(*ttl)), nil
}

// fromNow returns the time in so many seconds, at most a century from now.
func (s *Service) fromNow(seconds float64) oplog.Time {
	return oplog.At(s.now()) + oplog.Time(min(seconds, api.MaxAge)*1e6)
}

// sweepStep is the number of memories in the first entries of a sweep: a write may wait for one entry, so entries are
// short. The number doubles after every sweepSteps entries, up to maxSweepStep, so that many memories that expire at
// once are forgotten soon.
const (
	sweepStep    = 12
	sweepSteps   = 32
	maxSweepStep = 800
)

// sweep forgets expired memories, one bounded entry after another. After each entry it rests as long as the entry
// took, so that writes come between. An entry moves the log's time, so memories expire even if no client writes.
func (s *Service) sweep(ctx context.Context, c api.Caller) error {
	for n, step := 1, sweepStep; ; n++ {
		now, err := s.state.Current(c.DB)
		if err != nil || now.Stats.Expiring == 0 {
			return err
		}
		begun := time.Now()
		due, err := s.due(c.DB, step, func(*oplog.Memory) bool { return true })
		if err != nil || len(due) == 0 {
			return err
		}
		if _, err := s.write(ctx, c, &oplog.Sweep{RIDs: due}); err != nil || len(due) < step {
			return err
		}
		if n%sweepSteps == 0 {
			step = min(2*step, maxSweepStep)
		}
		if err := pause.For(ctx, time.Since(begun)); err != nil {
			return err
		}
	}
}

// due returns the memories that a sweep may name now, at most so many of the wanted ones, in the order of the ids in
// the state.
func (s *Service) due(db oplog.DB, most int, wanted func(*oplog.Memory) bool) (rids []string, err error) {
	until := oplog.At(s.now()) - 1000 // the log counts in milliseconds: what is due by now is due in the entry that names it
	looked := 0
	err = s.state.Read(func(v *state.View) error {
		v.Expiring(db, until, func(m *oplog.Memory) bool {
			if looked++; wanted(m) {
				rids = append(rids, m.RID)
			}
			return len(rids) < most && looked < state.MaxScan
		})
		return nil
	})
	slices.Sort(rids)
	return rids, err
}
