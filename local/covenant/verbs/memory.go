package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Record is a memory as this protocol shows it. All keys are always there.
type Record struct {
	ID        string          `json:"id"`
	Tier      string          `json:"tier"`
	Owner     home.AgentID    `json:"owner"`
	Text      string          `json:"text"`
	Embedding []float32       `json:"embedding"`
	Metadata  json.RawMessage `json:"metadata"`
	Created   uint64          `json:"created_at"`
	Parent    *string         `json:"parent"`
}

// show makes the record of one of the session's memories. A memory of another protocol gets a uuid when its id is none,
// always the same.
func (s *Session) show(m *oplog.Memory) Record {
	id, same := home.ForeignID(m.RID)
	text, meta := shown(m)
	if !same {
		meta = with(meta, "source_id", m.RID)
	}
	return Record{ID: id, Tier: oplog.TierOf(m.Tier), Owner: s.Peer, Text: text, Embedding: []float32{}, Metadata: meta,
		Created: home.ToMillis(m.Created)}
}

// with sets a key of a JSON object, or of an object around another value. With nil the key goes.
func with(meta json.RawMessage, key string, value any) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(meta, &m) != nil || m == nil {
		m = map[string]json.RawMessage{"value": meta}
	}
	raw, err := kit.JSON(value)
	if m[key] = raw; value == nil {
		delete(m, key)
	}
	out, err2 := kit.JSON(m)
	if err != nil || err2 != nil {
		return meta
	}
	return out
}

// readGate lets memory be read.
func readGate(verb, label, tier string) gate {
	g := gate{label: "memory:" + label, actions: []string{"memory.read"}, missing: fmt.Sprintf(
		`memory %s requires capability "memory.read" or a tier-specific memory.read.<tier> capability.`, verb),
		reject: fmt.Sprintf("memory %s rejected by capability scope: tier or before_ms does not match capability scope", verb)}
	if tier != "" {
		g.actions = append(g.actions, "memory.read."+tier)
	}
	g.allows = func(s scope) bool { return s.apply(false) && s.tiers(tier) }
	return g
}

// sees says which memories a session may see: its own, of one tier if one is given, as far as its scopes reach.
func (s *Session) sees(tier string, scopes []scope) func(namespace, owner, t string, created uint64) bool {
	return func(namespace, owner, t string, created uint64) bool {
		return s.OwnerOf(namespace, owner) == s.Peer.Pubkey && (tier == "" || oplog.TierOf(t) == tier) &&
			slices.ContainsFunc(scopes, func(sc scope) bool { return sc.before(created) })
	}
}

// only reports whether the scopes let a record of this id be seen; time is for sees.
func only(scopes []scope, r *Record) bool {
	return slices.ContainsFunc(scopes, func(sc scope) bool { return sc.admits(r.ID, r.Created) })
}

func recentMemory(f *serve.Fields) Action {
	tier, limit, streams := protocol.Tier(f, "tier"), f.Count("limit", 10), f.Flag("prefer_stream")
	return func(ctx context.Context, s *Session) (any, error) {
		scopes, err := s.scopes(ctx, readGate("read", "recent", tier))
		if err != nil {
			return nil, err
		}
		w := &walk{s: s, tier: tier, scopes: scopes, left: limit}
		page, err := w.next(ctx) // a fault before the first chunk is a plain error
		if err != nil {
			return nil, err
		}
		return protocol.Listed(&protocol.Stream{Kind: "memories", Chunks: w.chunks(ctx, page)}, "records", streams)
	}
}

// Weight is at most what the record is as JSON.
func (r *Record) Weight() int { return len(r.Text) + len(r.Metadata) + 2*len(r.Embedding) }

// A walk goes through a session's memories from the newest to the oldest, some at a time. Each page is read at its own
// moment: newer memories do not come in, purged ones are left out.
type walk struct {
	s      *Session
	tier   string
	scopes []scope
	left   uint64
	before oplog.Time // where to go on; 0 is the newest
	done   bool
}

// next gives some more records; none at the end.
func (w *walk) next(ctx context.Context) (page []Record, err error) {
	for len(page) == 0 && !w.done && w.left > 0 {
		a, err := home.Read(ctx, w.s.Home, "memory", api.Owned,
			&api.OwnedRequest{Owner: w.s.Peer.Pubkey, Tier: w.tier, Before: w.before, Limit: w.left})
		if err != nil {
			return nil, err
		}
		for _, m := range a.Memories {
			r := w.s.show(m.Memory)
			r.Embedding = m.Vector
			if only(w.scopes, &r) {
				page = append(page, r)
			}
		}
		w.before, w.done = a.Next, a.Next == 0
	}
	// Time as the protocol knows it ends with a millisecond: records of one are ordered by id.
	slices.SortStableFunc(page, func(a, b Record) int { return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID)) })
	page = page[:min(uint64(len(page)), w.left)]
	w.left -= uint64(len(page))
	return page, nil
}

// chunks streams the pages, the first of which was read already.
func (w *walk) chunks(ctx context.Context, page []Record) func(func(any) (bool, error)) error {
	return func(emit func(any) (bool, error)) (err error) {
		for len(page) > 0 {
			for i := range page {
				if more, err := emit(&page[i]); err != nil || !more {
					return err
				}
			}
			if page, err = w.next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func purgeMemory(f *serve.Fields) Action {
	tier, before := protocol.Tier(f, "tier"), f.Number("before_ms")
	return gated(gate{label: "memory:purge", actions: []string{"memory.purge"}, missing: `memory purge requires capability "memory.purge".`,
		allows: func(sc scope) bool {
			return sc.apply(true) && sc.tiers(tier) && sc.atMost("before_ms", before) && sc.Raw("record_id") == nil
		},
		reject: "memory purge rejected by capability scope: tier or before_ms does not match capability scope",
	}, func(ctx context.Context, s *Session) (any, error) {
		op := oplog.Purge{Before: micros(before), Tier: tier, At: oplog.At(time.Now())}
		if !s.isOperator() {
			op.Owner, op.Namespace = s.Peer.Pubkey, oplog.CovenantNamespace
		}
		purged, err := s.purge(ctx, op)
		if err != nil {
			return nil, home.StoreError("memory", err)
		}
		return kit.Object{"kind", "memory_purged", "purged", purged},
			s.record(kit.Object{"type", "memory_purged", "tier", orNull(tier), "before_ms", before, "purged", purged})
	})
}

// purge goes through the memories a step an entry, so that none of them keeps the log waiting. Which memories go is
// decided where the entries are applied: every node drops the same.
func (s *Session) purge(ctx context.Context, op oplog.Purge) (purged uint64, err error) {
	for {
		step, err := home.Write(ctx, s.Home, api.PurgeStep, &op)
		if err != nil {
			return purged, err
		}
		purged += step.Purged
		if op.From = step.Next; op.From == "" {
			return purged, nil
		}
	}
}
