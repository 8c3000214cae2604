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

// Record is a memory in the form of this protocol. All keys are always present.
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

// toRecord converts one of the session's memories to a record. An id that is not a UUID is mapped to a stable UUID.
func (s *Session) toRecord(m *oplog.Memory) Record {
	id, same := home.StableID(m.RID)
	text, meta := displayed(m)
	if !same {
		meta = withMember(meta, "source_id", m.RID)
	}
	return Record{ID: id, Tier: oplog.TierOf(m.Tier), Owner: s.Peer, Text: text, Embedding: []float32{}, Metadata: meta,
		Created: home.ToMillis(m.Created)}
}

// withMember sets a member of a JSON object, or removes it if value is nil. Metadata that is not an object is wrapped
// in one.
func withMember(meta json.RawMessage, key string, value any) json.RawMessage {
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

// readGate returns the capability check for reading memories.
func readGate(verb, label, tier string) gate {
	g := gate{label: "memory:" + label, actions: []string{"memory.read"}, missing: fmt.Sprintf(
		`memory %s requires capability "memory.read" or a tier-specific memory.read.<tier> capability.`, verb),
		reject: fmt.Sprintf("memory %s rejected by capability scope: tier or before_ms does not match capability scope", verb)}
	if tier != "" {
		g.actions = append(g.actions, "memory.read."+tier)
	}
	g.allows = func(s scope) bool { return s.allowsChange(false) && s.allowsTier(tier) }
	return g
}

// visible returns the filter for the memories that a session may see: its own, of one tier if tier is set, and
// created at a time that a scope allows.
func (s *Session) visible(tier string, scopes []scope) func(namespace, owner, t string, created uint64) bool {
	return func(namespace, owner, t string, created uint64) bool {
		return s.OwnerOf(namespace, owner) == s.Peer.Pubkey && (tier == "" || oplog.TierOf(t) == tier) &&
			slices.ContainsFunc(scopes, func(sc scope) bool { return sc.allowsTime(created) })
	}
}

// inScope reports whether the scopes allow a record with this id and time.
func inScope(scopes []scope, r *Record) bool {
	return slices.ContainsFunc(scopes, func(sc scope) bool { return sc.allowsRecord(r.ID, r.Created) })
}

func recentMemory(f *serve.Fields) Action {
	tier, limit, streams := protocol.Tier(f, "tier"), f.Count("limit", 10), f.Flag("prefer_stream")
	return func(ctx context.Context, s *Session) (any, error) {
		scopes, err := s.passingScopes(ctx, readGate("read", "recent", tier))
		if err != nil {
			return nil, err
		}
		w := &recordPager{s: s, tier: tier, scopes: scopes, left: limit}
		page, err := w.next(ctx) // an error here is a plain answer, because no chunk was sent yet
		if err != nil {
			return nil, err
		}
		return protocol.StreamOrList(&protocol.Stream{Kind: "memories", Chunks: w.chunks(ctx, page)}, "records", streams)
	}
}

// Weight estimates the size of the record as JSON.
func (r *Record) Weight() int { return len(r.Text) + len(r.Metadata) + 2*len(r.Embedding) }

// recordPager reads a session's memories page by page, from the newest to the oldest. Each page is read from the
// current state: newer memories do not appear, and purged ones are left out.
type recordPager struct {
	s      *Session
	tier   string
	scopes []scope
	left   uint64
	before oplog.Time // time of the next page; 0: the newest
	done   bool
}

// next returns the next page, empty at the end.
func (w *recordPager) next(ctx context.Context) (page []Record, err error) {
	for len(page) == 0 && !w.done && w.left > 0 {
		a, err := home.Read(ctx, w.s.Home, "memory", api.Owned,
			&api.OwnedRequest{Owner: w.s.Peer.Pubkey, Tier: w.tier, Before: w.before, Limit: w.left})
		if err != nil {
			return nil, err
		}
		for _, m := range a.Memories {
			r := w.s.toRecord(m.Memory)
			r.Embedding = m.Vector
			if inScope(w.scopes, &r) {
				page = append(page, r)
			}
		}
		w.before, w.done = a.Next, a.Next == 0
	}
	// The times of the protocol are milliseconds, so records of the same millisecond are ordered by id.
	slices.SortStableFunc(page, func(a, b Record) int { return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID)) })
	page = page[:min(uint64(len(page)), w.left)]
	w.left -= uint64(len(page))
	return page, nil
}

// chunks returns a function that streams the pages, beginning with one that was read already.
func (w *recordPager) chunks(ctx context.Context, page []Record) func(func(any) (bool, error)) error {
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
	return requireGate(gate{label: "memory:purge", actions: []string{"memory.purge"}, missing: `memory purge requires capability "memory.purge".`,
		allows: func(sc scope) bool {
			return sc.allowsChange(true) && sc.allowsTier(tier) && sc.atMost("before_ms", before) && sc.Raw("record_id") == nil
		},
		reject: "memory purge rejected by capability scope: tier or before_ms does not match capability scope",
	}, func(ctx context.Context, s *Session) (any, error) {
		op := oplog.Purge{Before: toMicros(before), Tier: tier, At: oplog.At(time.Now())}
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

// purge removes memories in steps, one entry of the log each, so that none of them blocks the log for long. Apply
// decides which memories a step removes, so all nodes remove the same ones.
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
