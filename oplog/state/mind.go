package state

import "github.com/cairndb/cairn/oplog"

// applyCognition applies the parts in a fixed order. Each part sees the changes of the earlier ones.
func applyCognition(a *entryTxn, op *oplog.Cognition) oplog.Result {
	t := &oplog.Thought{}
	var rows []string
	for _, id := range op.Expired {
		if a.moveTrigger(id, oplog.TriggerExpired, op.At) {
			t.Expired++
		}
	}
	for i := range op.Conflicts {
		if a.openConflict(op.Conflicts[i]) {
			t.Conflicts++
		}
	}
	for _, b := range op.Bounds {
		a.boundClaim(b, op.At)
	}
	for i := range op.Merges {
		if a.merge(&op.Merges[i], op.At) {
			t.Merged++
			rows = append(rows, op.Merges[i].Into.RID)
			for _, g := range op.Merges[i].Sources {
				rows = append(rows, g.RID)
			}
		}
	}
	for _, r := range op.Retier {
		if a.retier(r, op.At) {
			t.Retiered++
			rows = append(rows, r.RID)
		}
	}
	for _, g := range op.Outdated {
		if m, ok := a.unchanged(g); ok && !m.Pin {
			a.forget(m, op.At)
			t.Forgotten++
			rows = append(rows, g.RID)
		}
	}
	for _, tr := range op.Triggers {
		if a.addTrigger(tr) {
			t.Triggers = append(t.Triggers, tr.ID)
		}
	}
	for _, p := range op.Patterns {
		if a.confirmPattern(p) {
			t.PatternsNew++
		} else {
			t.PatternsUpdated++
		}
	}
	a.updateMind(op, t)
	return oplog.Result{Thought: t, Rows: rows, Changed: true}
}

// updateMind stores a round's personality, weights and progress.
func (a *entryTxn) updateMind(op *oplog.Cognition, t *oplog.Thought) {
	if op.Personality != nil {
		write(a.txn, tMind, a.db, mindPersonality, op.Personality)
		t.Personality = true
	}
	if w := op.Weights; w != nil {
		if w.Generation == load[oplog.Weights](a.txn, tMind, a.db, mindWeights).Generation+1 { // learned from the current weights
			write(a.txn, tMind, a.db, mindWeights, w)
			t.Weights = true
		}
	}
	for _, g := range op.Reread {
		if m, ok := memoryByRID(a.txn, a.db, g.RID); ok && m.Revision == g.Revision {
			a.del(tReread, a.db, seqKey(m.Seq))
		}
	}
	if op.Namespace != "" && !a.has(tNamespace, a.db, joinKey(op.Namespace, "")) {
		return // a namespace without memories has nothing to remember
	}
	m := a.Mind(a.db, op.Namespace)
	if op.Cursor != 0 {
		m.Cursor = op.Cursor
	}
	m.Read = max(m.Read, op.Read)
	if op.Last {
		m.LastThink, m.Base = max(m.LastThink, op.At), max(m.Base, op.Base)
	}
	write(a.txn, tMind, a.db, mindOf(op.Namespace), &m)
}

// mindOf returns the key of the Mind of a namespace, or, for a blank one, of the database.
func mindOf(namespace string) []byte {
	if namespace == "" {
		return mindSelf
	}
	return joinKey(string(mindSelf), namespace)
}

// Mind returns the progress of cognition in a namespace, or, for a blank one, in the database.
func (t *txn) Mind(db oplog.DB, namespace string) oplog.Mind {
	return load[oplog.Mind](t, tMind, db, mindOf(namespace))
}

// markForReread lists a changed memory for the next round of cognition. Memories that no round has read yet need no
// listing: rounds find them by number.
func (a *entryTxn) markForReread(m *oplog.Memory) {
	if m.Seq <= a.Mind(a.db, "").Read || m.Seq <= a.Mind(a.db, m.Namespace).Read {
		a.put(tReread, a.db, seqKey(m.Seq), nil)
	}
}

func applySetSettings(a *entryTxn, op *oplog.SetSettings) oplog.Result {
	write(a.txn, tMind, a.db, mindSettings, &op.Settings)
	return oplog.Result{Changed: true}
}

// maxFeedback is the number of judgements that a database keeps; the oldest are dropped.
const maxFeedback = 2000

func applyFeedback(a *entryTxn, op *oplog.Feedback) oplog.Result {
	last, _ := first(a.scanBack(tFeedback, a.db, nil))
	next := beUint64(last) + 1
	for i := range op.Judgements {
		write(a.txn, tFeedback, a.db, be64(next), &op.Judgements[i])
		if next > maxFeedback {
			a.del(tFeedback, a.db, be64(next-maxFeedback))
		}
		next++
	}
	return oplog.Result{Num: uint64(len(op.Judgements)), Changed: len(op.Judgements) > 0}
}

// confirmPattern stores a pattern, or confirms a known one. It reports whether the pattern is new.
func (a *entryTxn) confirmPattern(p oplog.Pattern) bool {
	old, known := read[oplog.Pattern](a.txn, tPattern, a.db, []byte(p.Key))
	p.Seen = 1
	if known {
		p.First, p.Seen = old.First, old.Seen+1
		p.Confidence = max(p.Confidence, old.Confidence)
	}
	write(a.txn, tPattern, a.db, []byte(p.Key), &p)
	return !known
}

// sourceShare is the part of a merged memory's importance that remains.
const sourceShare = .3

// merge makes one memory of several. It does nothing if a source has changed, was made by a merge, is in an open
// conflict, or is pinned, keyed, expiring, unsearchable or superseded.
func (a *entryTxn) merge(m *oplog.Merge, at oplog.Time) bool {
	if len(m.Sources) < 2 || a.exists(tRID, a.db, []byte(m.Into.RID)) || a.isErasedText(m.Into.Text) {
		return false
	}
	sources := make([]*oplog.Memory, len(m.Sources))
	seen := map[string]bool{}
	for i, g := range m.Sources {
		s, ok := a.unchanged(g)
		if !ok || seen[g.RID] || s.Merged > 0 || s.Pin || s.Path != "" || s.Expires != 0 || s.Unsearchable || s.By != "" ||
			s.Namespace != m.Into.Namespace || a.InConflict(a.db, g.RID) {
			return false
		}
		seen[g.RID] = true
		sources[i] = s
	}
	a.replaceBy(sources, []oplog.Remember{m.Into}, at)
	return true
}

// replaceBy consolidates the sources and stores their products. The sources come first, so that a merge works in a
// database that is at its quota.
func (a *entryTxn) replaceBy(sources []*oplog.Memory, by []oplog.Remember, at oplog.Time) (rids []string) {
	for _, s := range sources {
		a.countStatus(s, -1)
		s.Status, s.Updated = oplog.Consolidated, at
		if s.Into = by[0].RID; len(by) > 1 {
			s.Into = ""
			for i := range by {
				s.Split = append(s.Split, by[i].RID)
			}
		}
		s.Importance *= sourceShare
		a.dropClaims(s) // the products state them
		a.countStatus(s, +1)
		a.putMemory(s)
		a.put(tPast, a.db, timeKey(at, s.Seq), nil)
		rids = append(rids, s.RID)
	}
	a.detached = true
	for _, made := range by {
		for _, source := range sources {
			made.Trust = inheritedTrust(made.Trust, source)
		}
		r := applyRemember(a, &made)
		rids = append(rids, r.ID)
		if len(sources) > 1 {
			m, _ := a.memoryAt(oplog.Seq(r.Num))
			m.Merged = uint32(len(sources))
			a.putMemory(m)
		}
	}
	a.detached = false
	return rids
}

func (a *entryTxn) retier(r oplog.Retier, at oplog.Time) bool {
	m, ok := a.liveMemory(r.RID)
	if !ok || m.Status != oplog.Active || m.Pin || m.Tier != r.From {
		return false
	}
	m.Tier, m.Updated = r.To, at
	a.putMemory(m)
	return true
}

// Patterns walks the patterns by key.
func (v *View) Patterns(db oplog.DB, f func(oplog.Pattern) bool) {
	each(v.scan(tPattern, db, nil), f)
}

// neutralPersonality describes the agent of a database without a THINK.
var neutralPersonality = oplog.Personality{Attentiveness: .5, Depth: .5, Energy: .5, Warmth: .5}

// Personality returns the personality that the last THINK computed; a neutral one before the first.
func (v *View) Personality(db oplog.DB) oplog.Personality {
	p, ok := read[oplog.Personality](v.txn, tMind, db, mindPersonality)
	if !ok {
		return neutralPersonality
	}
	return p
}

// Weights returns the learned weights of the database; ok is false while it has learned nothing.
func (v *View) Weights(db oplog.DB) (w oplog.Weights, ok bool) {
	return read[oplog.Weights](v.txn, tMind, db, mindWeights)
}

// Settings returns the database's policies.
func (v *View) Settings(db oplog.DB) oplog.Settings {
	return load[oplog.Settings](v.txn, tMind, db, mindSettings)
}

// Reread walks the memories, from a number on, that have changed since a round of cognition read them.
func (v *View) Reread(db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
	v.memoriesOf(db, v.scanFrom(tReread, db, seqKey(from)), f)
}

// Judgements walks the feedback, the newest first.
func (v *View) Judgements(db oplog.DB, f func(oplog.Judgement) bool) {
	each(v.scanBack(tFeedback, db, nil), f)
}
