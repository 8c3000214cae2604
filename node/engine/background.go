package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Background says what a leader does by itself. The zero value is right for production.
type Background struct {
	NoThink     bool          // rounds of cognition run on request alone
	Think       time.Duration // 30m: between two rounds of cognition of a database: conflicts, triggers, tiers
	Consolidate bool          // merge duplicates too, in databases whose settings do not ask for it themselves
	Abandon     time.Duration // 1h: between two searches for sessions that no client ended
	SessionAge  time.Duration // 24h: how old an unended session may grow
	Embed       time.Duration // 2s: how often a node looks whether there is something to embed afterwards
	Partition   time.Duration // 10s: how often a leader looks whether vectors are to be divided anew
	Reinforce   time.Duration // 5s: how often what a node's recalls returned goes through the log
}

// WithDefaults puts the defaults in the place of zeros.
func (b Background) WithDefaults() Background {
	if b.Think <= 0 {
		b.Think = 30 * time.Minute
	}
	b.Embed = cmp.Or(b.Embed, 2*time.Second)
	b.Partition = cmp.Or(b.Partition, 10*time.Second)
	b.Abandon = cmp.Or(b.Abandon, time.Hour)
	b.SessionAge = cmp.Or(b.SessionAge, 24*time.Hour)
	b.Reinforce = cmp.Or(b.Reinforce, 5*time.Second)
	return b
}

// minThink is the number of active memories below which no round runs.
const minThink = 10

// background is the task of a leader's own work. Every node runs it; on a follower it does nothing.
func (s *Service) background(ctx context.Context) error {
	b := s.cfg.Background
	think, abandon := time.NewTicker(b.Think), time.NewTicker(b.Abandon)
	defer think.Stop()
	defer abandon.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-think.C:
			if b.NoThink {
				continue
			}
			s.eachDatabase(ctx, "think", s.thinkAlone)
		case <-abandon.C:
			s.eachDatabase(ctx, "abandon", s.abandon)
		}
	}
}

// eachDatabase runs f for every database while this node leads.
func (s *Service) eachDatabase(ctx context.Context, what string, f func(context.Context, api.Caller) error) {
	s.everyDatabase(ctx, what, s.commit.Leads, f)
}

// everyDatabase runs f for every database while a condition holds.
func (s *Service) everyDatabase(ctx context.Context, what string, while func() bool, f func(context.Context, api.Caller) error) {
	var dbs []oplog.Database
	if err := s.state.Read(func(v *state.View) error {
		dbs = v.Databases()
		return nil
	}); err != nil {
		return
	}
	for _, d := range dbs {
		if ctx.Err() != nil || !while() {
			return
		}
		if err := f(ctx, api.Caller{DB: d.ID, Database: d.Name, By: api.ByNode, Scopes: access.All}); err != nil && ctx.Err() == nil {
			s.log.Warn("background work", "task", what, "database", d.Name, "err", err)
		}
	}
}

// thinkAlone runs a round of cognition of a database that was written to since the last one.
func (s *Service) thinkAlone(ctx context.Context, c api.Caller) error {
	var st oplog.Stats
	var set oplog.Settings
	if err := s.state.Read(func(v *state.View) error {
		st, set = v.Stats(c.DB), v.Settings(c.DB)
		return nil
	}); err != nil {
		return err
	}
	if set.QuietMind || st.Active < minThink {
		return nil
	}
	_, err := s.think(ctx, c, &api.ThinkRequest{ThinkParts: api.ThinkParts{Conflicts: true, Consolidate: set.Consolidate || s.cfg.Background.Consolidate}, Limit: 1000})
	return err
}

// abandonStep bounds the sessions that one entry closes.
const abandonStep = 200

// abandon ends sessions that no client has ended, by the log's own clock.
func (s *Service) abandon(ctx context.Context, c api.Caller) error {
	cutoff := s.state.Last().Time() - oplog.Time(s.cfg.Background.SessionAge.Microseconds())
	for {
		old := false
		if err := s.state.Read(func(v *state.View) error {
			v.ActiveSessions(c.DB, func(x oplog.Session) bool {
				old = x.Started < cutoff
				return false
			})
			return nil
		}); err != nil || !old {
			return err
		}
		op := &oplog.Abandon{Before: cutoff, Max: abandonStep, At: oplog.At(s.now())}
		if _, err := s.write(ctx, c, write{ops: []oplog.Op{op}}); err != nil {
			return err
		}
	}
}
