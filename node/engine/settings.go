package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// settings are the policies of the caller's database.
func (s *Service) settings(_ context.Context, c api.Caller, _ *api.SettingsRequest) (*api.Policies, error) {
	set, err := s.policies(c.DB)
	return &api.Policies{WorkingTTL: set.WorkingTTL.Seconds(), EpisodicTTL: set.EpisodicTTL.Seconds(), PromoteAfter: set.PromoteAfter,
		Consolidate: set.Consolidate, QuietMind: set.QuietMind, Updated: when(set.Updated)}, err
}

func (s *Service) policies(db oplog.DB) (set oplog.Settings, err error) {
	err = s.state.Read(func(v *state.View) error {
		set = v.Settings(db)
		return nil
	})
	return set, err
}

func (s *Service) setSettings(ctx context.Context, c api.Caller, q *api.SetSettingsRequest) (*api.Policies, error) {
	set, err := s.policies(c.DB)
	if err != nil {
		return nil, err
	}
	for _, age := range []struct {
		given *float64
		to    *oplog.Time
	}{{q.WorkingTTL, &set.WorkingTTL}, {q.EpisodicTTL, &set.EpisodicTTL}} {
		if age.given == nil {
			continue
		}
		if !(*age.given >= 0) { // or no number
			return nil, oplog.Errorf(oplog.Invalid, "a time to live must not be negative")
		}
		*age.to = oplog.Time(min(*age.given, maxAge) * 1e6)
	}
	set.PromoteAfter = orOld(q.PromoteAfter, set.PromoteAfter)
	set.Consolidate, set.QuietMind = orOld(q.Consolidate, set.Consolidate), orOld(q.QuietMind, set.QuietMind)
	set.Updated = oplog.At(time.Now())
	if _, err := s.write(ctx, c, write{ops: []oplog.Op{&oplog.SetSettings{Settings: set}}}); err != nil {
		return nil, err
	}
	return s.settings(ctx, c, nil)
}

// maxAge bounds an age in seconds: a century.
const maxAge = 100 * 365 * 86400
