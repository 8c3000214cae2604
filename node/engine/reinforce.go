package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
)

// reinforcer collects the memories that recalls returned, until a batch of them goes through the log. A read never
// waits for it and never writes; a crash loses only reinforcement.
type reinforcer struct {
	s    *Service
	boot string        // names this run of the process in the batches' keys
	kick chan struct{} // holds a token when enough has gathered

	mu      sync.Mutex
	dbs     map[oplog.DB]map[string]oplog.Hit
	rids    int
	batches uint64
}

const (
	reinforceAt   = 1000    // memories that go at once
	reinforceMost = 100_000 // memories kept until they are written; more are dropped
	reinforceOps  = 5000    // memories in one entry
)

func newReinforcer(s *Service) *reinforcer {
	return &reinforcer{s: s, boot: uuid.NewString(), kick: make(chan struct{}, 1), dbs: map[oplog.DB]map[string]oplog.Hit{}}
}

// noteRecall notes the memories that a recall returned.
func (r *reinforcer) noteRecall(db oplog.DB, hits []index.Hit, at time.Time) {
	if len(hits) == 0 {
		return
	}
	t, soon := oplog.At(at), false
	r.mu.Lock()
	for i := range hits {
		r.add(db, oplog.Hit{RID: hits[i].Memory.RID, Count: 1, At: t})
		soon = soon || r.urgent(hits[i].Memory, t)
	}
	full := r.rids >= reinforceAt
	r.mu.Unlock()
	r.sendSoon(full || soon)
}

// noteRead notes that a memory was read by its id, if reading delays its expiry. It does not count as a recall.
func (r *reinforcer) noteRead(db oplog.DB, m *oplog.Memory, at time.Time) {
	if m.Refresh <= 0 || m.Expiry() == 0 {
		return
	}
	t := oplog.At(at)
	r.mu.Lock()
	r.add(db, oplog.Hit{RID: m.RID, At: t})
	r.mu.Unlock()
	r.sendSoon(r.urgent(m, t))
}

// urgent reports whether a memory that was read may expire before the next batch renews it.
func (r *reinforcer) urgent(m *oplog.Memory, at oplog.Time) bool {
	return m.Refresh > 0 && m.Expires-at < 2*oplog.Time(r.s.cfg.Background.Reinforce.Microseconds())
}

// sendSoon triggers a batch before the next tick.
func (r *reinforcer) sendSoon(now bool) {
	if now {
		pause.Offer(r.kick, struct{}{})
	}
}

// add adds hits to the buffer. The caller holds mu.
func (r *reinforcer) add(db oplog.DB, h oplog.Hit) {
	of := r.dbs[db]
	if of == nil {
		of = map[string]oplog.Hit{}
		r.dbs[db] = of
	}
	old, known := of[h.RID]
	if !known {
		if r.rids >= reinforceMost {
			return
		}
		r.rids++
	}
	of[h.RID] = oplog.Hit{RID: h.RID, Count: old.Count + h.Count, At: max(old.At, h.At)}
}

// batch is one entry of reinforcement. Its key is an idempotency key: a batch that is sent twice counts once.
type batch struct {
	db   oplog.DB
	key  string
	hits []oplog.Hit
}

// takeBatches empties the buffer into batches.
func (r *reinforcer) takeBatches() (out []batch) {
	r.mu.Lock()
	dbs := r.dbs
	r.dbs, r.rids = map[oplog.DB]map[string]oplog.Hit{}, 0
	r.mu.Unlock()
	for _, db := range slices.Sorted(maps.Keys(dbs)) {
		hits := slices.SortedFunc(maps.Values(dbs[db]), func(a, b oplog.Hit) int { return cmp.Compare(a.RID, b.RID) })
		for c := range slices.Chunk(hits, reinforceOps) {
			r.batches++
			out = append(out, batch{db, fmt.Sprintf("reinforce/%d/%s/%d", r.s.cfg.Member.NodeID, r.boot, r.batches), c})
		}
	}
	return out
}

// run is the task that sends the batches. It repeats a batch whose outcome is unknown under the same key, and returns
// a batch that the leader rejected to the buffer.
func (r *reinforcer) run(ctx context.Context) error {
	tick := time.NewTicker(r.s.cfg.Background.Reinforce)
	defer tick.Stop()
	var unsure []batch
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.kick:
		case <-tick.C:
		}
		todo := append(unsure, r.takeBatches()...)
		unsure = nil
		for _, b := range todo {
			c := api.Caller{DB: b.db, Scopes: access.All, Forward: true}
			switch _, err := r.s.propose(ctx, c, write{key: b.key, ops: []oplog.Op{&oplog.Reinforce{Hits: b.hits}}}); {
			case err == nil, errors.Is(err, oplog.ErrNoDatabase): // done, or of no use any more
			case errors.Is(err, &oplog.Error{Kind: oplog.UnknownOutcome}) && len(unsure) < 16:
				unsure = append(unsure, b)
			default:
				r.putBack(b)
			}
		}
	}
}

func (r *reinforcer) putBack(b batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range b.hits {
		r.add(b.db, h)
	}
}
