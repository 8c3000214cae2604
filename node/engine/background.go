package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// Background configures the leader's periodic tasks. The zero value is right for production.
type Background struct {
	NoThink     bool          // rounds of cognition run on request alone
	Think       time.Duration // 30m: between two rounds of cognition of a database: conflicts, triggers, tiers
	ThinkRows   int           // 10,000: memories that one round of cognition reads; it goes through a database with more in parts
	Consolidate bool          // merge duplicates too, in databases whose settings do not ask for it themselves
	Abandon     time.Duration // 1h: between two searches for sessions that no client ended
	SessionAge  time.Duration // 24h: how old an unended session may grow
	Embed       time.Duration // 2s: how often a node looks whether there is something to embed afterwards
	Partition   time.Duration // 10s: how often a leader looks whether vectors are to be divided again
	Sweep       time.Duration // 1s: how often a leader looks for memories that have expired
	Reinforce   time.Duration // 5s: how often what a node's recalls returned goes through the log
	Erase       time.Duration // 1s: how often a leader looks whether rows of dropped databases are left
}

// WithDefaults replaces zeros with the defaults.
func (b Background) WithDefaults() Background {
	b.Think = cmp.Or(max(b.Think, 0), 30*time.Minute)
	b.ThinkRows = cmp.Or(b.ThinkRows, 10_000)
	b.Embed = cmp.Or(b.Embed, 2*time.Second)
	b.Partition = cmp.Or(b.Partition, 10*time.Second)
	b.Abandon = cmp.Or(b.Abandon, time.Hour)
	b.SessionAge = cmp.Or(b.SessionAge, 24*time.Hour)
	b.Reinforce = cmp.Or(b.Reinforce, 5*time.Second)
	b.Sweep = cmp.Or(b.Sweep, time.Second)
	b.Erase = cmp.Or(b.Erase, time.Second)
	return b
}

// whileLeading returns a task that runs f for every database on the leader, and does nothing on a follower.
func (s *Service) whileLeading(what string, f func(context.Context, api.Caller) error) func(context.Context) {
	return func(ctx context.Context) { s.eachDatabase(ctx, what, s.commit.Leads, f) }
}

// eachDatabase runs f for every database while a condition holds.
func (s *Service) eachDatabase(ctx context.Context, what string, while func() bool, f func(context.Context, api.Caller) error) {
	dbs, _ := state.Get(s.state, (*state.View).Databases) // a closing state has none
	for _, d := range dbs {
		if ctx.Err() != nil || !while() {
			return
		}
		if err := f(ctx, api.Caller{DB: d.ID, Database: d.Name, By: api.ByNode, Scopes: access.All}); err != nil && ctx.Err() == nil {
			s.log.Warn("background work", "task", what, "database", d.Name, "err", err)
		}
	}
}

// abandonStep bounds the sessions that one entry closes.
const abandonStep = 200

// abandon ends sessions that no client has ended, by the log's own clock.
func (s *Service) abandon(ctx context.Context, c api.Caller) error {
	cutoff := s.state.Last().Time() - oplog.Time(s.cfg.Background.SessionAge.Microseconds())
	for {
		old, err := state.Get(s.state, func(v *state.View) (old bool) {
			v.ActiveSessions(c.DB, func(x oplog.Session) bool {
				old = x.Started < cutoff
				return false
			})
			return old
		})
		if err != nil || !old {
			return err
		}
		if _, err := s.write(ctx, c, &oplog.Abandon{Before: cutoff, Max: abandonStep, At: oplog.At(s.now())}); err != nil {
			return err
		}
	}
}

// learnShare is the part of the time that learning may take: purges, each of which ends how vectors are divided, come
// many in a row, and a database that is filled has twice as many again and again.
const learnShare = 20

// learnPartitions learns how the vectors of large databases are divided, so that a question compares a few of them. The
// leader does it; all nodes take from the log what it has learned, and answer alike.
func (s *Service) learnPartitions() func(context.Context, api.Caller) error {
	rested := map[oplog.DB]time.Time{} // when a database may be learned again
	return func(ctx context.Context, c api.Caller) error {
		begun := time.Now()
		if begun.Before(rested[c.DB]) {
			return nil
		}
		op, err := s.index.Learn(ctx, c.DB)
		if op == nil || err != nil {
			return err
		}
		rested[c.DB] = time.Now().Add(learnShare * time.Since(begun))
		if _, err := s.write(ctx, c, op); err != nil {
			return err
		}
		p := op.Partitions
		s.log.Info("vectors divided into partitions", "database", c.Database, "vectors", p.Rows, "partitions", p.Count(),
			"took", time.Since(begun))
		return nil
	}
}

// erase removes the rows of dropped databases, one bounded entry after another. It rests after each as long as that
// took, so writes come between.
func (s *Service) erase(ctx context.Context) {
	for s.commit.Leads() {
		left, err := state.Get(s.state, (*state.View).Erasing)
		if err != nil || !left { // a closing state has none
			return
		}
		begun := time.Now()
		if _, err := s.write(ctx, access.Node(), &oplog.Erase{At: oplog.At(s.now())}); err != nil {
			if ctx.Err() == nil {
				s.log.Warn("background work", "task", "erase", "err", err)
			}
			return
		}
		if pause.For(ctx, time.Since(begun)) != nil {
			return
		}
	}
}
