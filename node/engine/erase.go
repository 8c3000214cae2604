package engine

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

const (
	mostErased   = 1000 // memories of a request
	shownErased  = 200  // letters of a text that is shown before it goes
	erasedRescan = 4096 // rows between looks at whether the client is still there
)

// erasure holds the memories, relations and claims that a request to erase names.
type erasure struct {
	rids   []string
	name   string // of the entity, as it is written
	edges  []string
	claims []string
	past   []uint32 // the earlier revisions that alone are erased
	all    state.Derived
}

// eraseForGood lists the memories that a request would erase, or erases them if the request confirms it.
func (s *Service) eraseForGood(ctx context.Context, c api.Caller, q *api.EraseRequest) (*api.Erasing, error) {
	match, err := parseErase(q)
	if err != nil {
		return nil, err
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
		return nil, err
	}
	a, d := &api.Erasing{Memories: []api.Doomed{}, Back: []string{}, Held: []string{}}, &erasure{}
	if err := s.readState(ctx, c, func(v *state.View) error {
		if err := d.find(ctx, v, c, q, match); err != nil {
			return err
		}
		if len(q.Revisions) > 0 {
			return d.fillRevisions(v, c.DB, q.Revisions, a)
		}
		d.fillAnswer(v, c.DB, a)
		return nil
	}); err != nil {
		return nil, err
	}
	if len(a.Memories)+a.Relations+a.Claims == 0 {
		return a, nil
	}
	a.Confirm = d.digest()
	if q.Confirm == "" {
		return a, nil
	}
	if q.Confirm != a.Confirm {
		return nil, oplog.Errorf(oplog.Conflict,
			"what this request erases has changed since it was shown: look at it again, and confirm that")
	}
	return a, s.eraseNow(ctx, c, d, a)
}

// eraseNow carries out a confirmed erasure.
func (s *Service) eraseNow(ctx context.Context, c api.Caller, d *erasure, a *api.Erasing) error {
	var ops []oplog.Op
	for _, id := range d.edges {
		ops = append(ops, &oplog.Unrelate{ID: id})
	}
	salt := make([]byte, oplog.MinSalt)
	_, _ = rand.Read(salt) // it never fails
	purge := &oplog.Purge{RIDs: d.rids, Past: d.past, Claims: d.claims, Salt: salt, At: oplog.At(s.now())}
	if d.name != "" {
		purge.Name = oplog.NameHash(salt, d.name) // the log must not hold what is erased
	}
	w, err := s.write(ctx, c, append(ops, purge)...)
	if err != nil {
		return err
	}
	for i := range a.Memories {
		a.Memories[i].Text = ""
	}
	a.Confirm, a.Erased, a.Index, a.Held = "", true, field.Token(w.Index), remainingCopies(w.Index)
	return nil
}

// purge erases memories with their texts, vectors and revisions. It proposes as many entries as are needed; when one
// fails, the ones before it remain.
func (s *Service) purge(ctx context.Context, c api.Caller, q *api.PurgeRequest) (*api.Purged, error) {
	if q.Before.IsZero() {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'before'")
	}
	op := oplog.Purge{Before: oplog.At(q.Before.Time), Tier: q.Tier, Owner: q.Owner, Namespace: q.Namespace, At: oplog.At(s.now())}
	a := &api.Purged{}
	for {
		next := op
		w, err := s.write(ctx, c, &next)
		if err != nil {
			return nil, err
		}
		a.Count, a.Index = a.Count+w.First.Num, field.Token(w.Index)
		if op.From = w.First.ID; op.From == "" {
			a.Held = remainingCopies(w.Index)
			return a, nil
		}
	}
}

// remainingCopies lists the places that still hold purged text when the purge answers, and until when.
func remainingCopies(at oplog.Index) []string {
	return []string{
		fmt.Sprintf("logs and snapshots of the members, until each has applied record %d and taken a snapshot, within seconds", at),
		"files of state and index of each member, until it has rewritten them after that; its status says hold_purge until then",
		"files of members that are down, until they are up and have done the same, and files moved aside (*.corrupt-*), until you remove them",
		"answers of Covenant that quote it: memories of the namespace covenant whose metadata has the id in source_ids; erase them too",
		"files of each node's own protocols, if clients sent it there: Covenant's audit log and mailbox, inboxes of stringd's agents, spools of hooks; remove it there yourself",
		"backups and copies that were taken before: remove them yourself",
	}
}

// rejectErased rejects texts that were erased for good before they enter the log, which would contain them again. If
// this node has not applied the erasure yet, Apply rejects them.
func (s *Service) rejectErased(db oplog.DB, ops []oplog.Op) error {
	if now, err := s.state.Current(db); err != nil || now.Database.Salt == nil {
		return nil // without a database Apply says so
	}
	return s.state.Read(func(v *state.View) error {
		for _, op := range ops {
			refused := false
			if pushed, ok := op.(*oplog.Foreign); ok {
				op = pushed.Effect()
			}
			switch op := op.(type) {
			case *oplog.Remember:
				refused = v.ErasedText(db, op.Text) || op.Was != nil &&
					slices.ContainsFunc(op.Was.Revisions, func(r oplog.Revision) bool { return v.ErasedText(db, r.Text) })
			case *oplog.Recast:
				refused = slices.ContainsFunc(op.Into, func(m oplog.Remember) bool { return v.ErasedText(db, m.Text) })
			case *oplog.Resolve:
				refused = op.Merged != nil && v.ErasedText(db, op.Merged.Text)
			case *oplog.Correct:
				refused = op.Text != nil && v.ErasedText(db, *op.Text)
			}
			if refused {
				return oplog.ErrErasedText
			}
		}
		return nil
	})
}

// parseErase checks that a request names memories in one way, and reads its filter.
func parseErase(q *api.EraseRequest) (match *filter.Filter, err error) {
	ways := 0
	for _, given := range []bool{len(q.RIDs) > 0, q.Prefix != "", len(q.Filter) > 0, strings.TrimSpace(q.Entity) != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, oplog.Errorf(oplog.Invalid, "name what to erase in one way: rids, prefix, filter or entity")
	}
	if len(q.Revisions) > 0 && len(q.RIDs) != 1 {
		return nil, oplog.Errorf(oplog.Invalid, "revisions: they are those of one memory, which rids names")
	}
	if len(q.RIDs) > mostErased || len(q.Revisions) > mostErased {
		return nil, oplog.Errorf(oplog.Invalid, "rids and revisions: %d and %d, at most %d", len(q.RIDs), len(q.Revisions), mostErased)
	}
	if match, err = parseFilter(q.Filter); err == nil && len(q.Filter) > 0 && len(match.Parts()) == 0 {
		err = oplog.Errorf(oplog.Invalid, "filter: an empty one would erase every memory; to do that use purge")
	}
	return match, err
}

// find completes a request with the rows that it names. A filter checks every memory, because no index has the
// forgotten ones.
func (d *erasure) find(ctx context.Context, v *state.View, c api.Caller, q *api.EraseRequest, match *filter.Filter) error {
	take := func(m *oplog.Memory) bool {
		if _, gone := v.Erased(c.DB, m.RID); !gone && (q.Namespace == "" || m.Namespace == q.Namespace || q.Prefix != "") {
			d.rids = append(d.rids, m.RID)
		}
		return len(d.rids) <= mostErased
	}
	switch {
	case len(q.RIDs) > 0:
		for _, rid := range q.RIDs {
			if m, ok := v.Memory(c.DB, rid); ok {
				take(m)
			}
		}
	case q.Prefix != "":
		space, folder := orDefault(q.Namespace), strings.TrimSuffix(q.Prefix, "/")
		if m, ok := v.Keyed(c.DB, space, folder); ok {
			take(m)
		}
		v.Keys(c.DB, space, folder+"/", "", 0, func(_ string, m *oplog.Memory) bool { return take(m) })
	case match != nil:
		looked := 0
		v.Memories(c.DB, 0, func(m *oplog.Memory) bool {
			looked++
			return (looked%erasedRescan != 0 || ctx.Err() == nil) && (!m.Passes(match) || take(m))
		})
	default:
		d.name = v.Named(c.DB, strings.TrimSpace(q.Entity))
		v.EntityMemories(c.DB, d.name, take)
		for _, e := range v.Edges(c.DB, d.name, mostErased+1) {
			d.edges = append(d.edges, e.ID)
		}
		for _, claim := range v.Claims(c.DB, d.name, oplog.Reach{}, mostErased+1) {
			d.claims = append(d.claims, claim.ID)
		}
	}
	slices.Sort(d.rids)
	d.rids = slices.Compact(d.rids)
	return ctx.Err()
}

// fillAnswer adds the memories, relations and claims that would be erased to an answer.
func (d *erasure) fillAnswer(v *state.View, db oplog.DB, a *api.Erasing) {
	for _, list := range []*[]string{&d.rids, &d.edges, &d.claims} {
		a.More = a.More || len(*list) > mostErased
		*list = (*list)[:min(len(*list), mostErased)]
	}
	d.all = v.Derived(db, d.rids)
	for i := range d.all.Gone {
		m := &d.all.Gone[i]
		a.Memories = append(a.Memories,
			api.Doomed{RID: m.RID, Namespace: m.Namespace, Text: snippet(m.Text, shownErased), Merged: m.Merged > 0})
	}
	a.Back = ridsOf(d.all.Back)
	a.Relations, a.Claims = len(d.edges), len(d.claims)
}

// fillRevisions fills in an answer about revisions of the one memory. Those that were erased before are passed over.
func (d *erasure) fillRevisions(v *state.View, db oplog.DB, numbers []uint32, a *api.Erasing) error {
	if len(d.rids) == 0 {
		return nil
	}
	m, _ := v.Memory(db, d.rids[0])
	all := v.Revisions(db, m.Seq)
	for _, number := range numbers {
		i := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number == number })
		if i < 0 {
			return noRevision(m.RID, number, all)
		}
		if all[i].Erased == 0 && !slices.Contains(d.past, number) {
			d.past = append(d.past, number)
			a.Memories = append(a.Memories,
				api.Doomed{RID: m.RID, Namespace: m.Namespace, Text: snippet(all[i].Text, shownErased), Revision: &number})
		}
	}
	return nil
}

func ridsOf(list []oplog.Memory) []string {
	return api.Each(list, func(m oplog.Memory) string { return m.RID })
}

// digest returns the token with which a client confirms exactly this erasure.
func (d *erasure) digest() string {
	return hex.EncodeToString(digest(ridsOf(d.all.Gone), ridsOf(d.all.Back), d.edges, d.claims,
		api.Each(d.past, func(n uint32) string { return fmt.Sprint(d.rids[0], " ", n) })))
}

// erased returns the proof that a memory was erased for good.
func (s *Service) erased(v *state.View, c api.Caller, q *api.ErasedRequest) (*api.Proof, error) {
	e, ok := v.Erased(c.DB, q.RID)
	if m, there := v.Memory(c.DB, q.RID); !ok || there && !c.Reach("").Has(m.Namespace) {
		return nil, oplog.Errorf(oplog.NotFound, "no memory with this id was erased for good")
	}
	d, _ := v.Database(c.DB)
	st := api.Statement{RID: e.RID, Database: d.Name, Index: e.Index, At: e.At.Seconds(), Revisions: e.Revisions,
		Claims: e.Claims, Entities: e.Entities,
		Vector: e.Vector, Merged: e.Merged, Holds: s.cfg.Home.Leftovers().HoldPurge, Held: remainingCopies(e.Index)}
	said, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	return &api.Proof{Statement: st, NodeID: s.cfg.Member.NodeID, Key: s.key(),
		Signature: hex.EncodeToString(ed25519.Sign(s.cfg.Home.Identity, said))}, nil
}

// key returns the public key of the node's home; blank if the engine has none.
func (s *Service) key() string {
	key, _ := s.cfg.Home.Identity.Public().(ed25519.PublicKey)
	return hex.EncodeToString(key)
}
