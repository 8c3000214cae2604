package engine

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// occurrence is one event that an operation causes for a subscriber.
type occurrence struct{ name, id string }

// mindEvents returns an event for each decision of a round of cognition that the state accepted. Decisions that Apply
// dropped have none.
func mindEvents(v *state.View, db oplog.DB, op *oplog.Cognition) (out []occurrence) {
	for i := range op.Conflicts {
		if id := op.Conflicts[i].ID; has(v.Conflict(db, id)) {
			out = append(out, occurrence{"conflict", id})
		}
	}
	for i := range op.Merges {
		if id := op.Merges[i].Into.RID; has(v.Memory(db, id)) {
			out = append(out, mergeEvents(id, op.Merges[i].Sources)...)
		}
	}
	for _, g := range op.Outdated {
		if m, ok := v.Memory(db, g.RID); ok && m.Status == oplog.Tombstoned {
			out = append(out, occurrence{"forgotten", g.RID})
		}
	}
	for i := range op.Triggers {
		if id := op.Triggers[i].ID; has(v.Trigger(db, id)) {
			out = append(out, occurrence{"trigger", id})
		}
	}
	return append(out, occurrence{"thought", ""})
}

// sweepEvents returns an event for each memory that a sweep has forgotten. One that was renewed before the sweep came
// expires later. So each reader of the log gets the same events, at any time.
func sweepEvents(v *state.View, db oplog.DB, op *oplog.Sweep, at oplog.Time) (out []occurrence) {
	for _, rid := range op.RIDs {
		if m, ok := eventMemory(v, db, rid); ok && m.Status == oplog.Tombstoned && m.Expires != 0 && m.Expires <= at {
			out = append(out, occurrence{"forgotten", rid})
		}
	}
	return out
}

// mergeEvents returns an event for what a merge made, and for each memory that went into it.
func mergeEvents(into string, sources []oplog.Grounds) []occurrence {
	out := []occurrence{{"consolidated", into}}
	for _, g := range sources {
		out = append(out, occurrence{"corrected", g.RID})
	}
	return out
}

// recastEvents returns the events of a merge, or one for each part of a split and for its source.
func recastEvents(op *oplog.Recast) (out []occurrence) {
	if len(op.Into) == 1 {
		return mergeEvents(op.Into[0].RID, op.Sources)
	}
	for i := range op.Into {
		out = append(out, occurrence{"stored", op.Into[i].RID})
	}
	return append(out, occurrence{"corrected", op.Sources[0].RID})
}

// resolvedEvents returns the events of a conflict's end: its own, and those of what the decision made and forgot.
func resolvedEvents(v *state.View, db oplog.DB, op *oplog.Resolve) []occurrence {
	out := []occurrence{{"resolved", op.ID}}
	c, _ := v.Conflict(db, op.ID)
	if op.Strategy == oplog.MergeAB {
		out = append(out, occurrence{"stored", op.Merged.RID})
	}
	for _, rid := range []string{c.A, c.B} {
		if m, ok := v.Memory(db, rid); ok && m.Status == oplog.Tombstoned && m.Updated == op.At {
			out = append(out, occurrence{"forgotten", rid})
		}
	}
	return out
}

func has[T any](_ T, ok bool) bool { return ok }

// occurrences returns the events of an entry for a subscriber, in order: an event for each memory that it changed.
func occurrences(v *state.View, o *oplog.Outcome) []occurrence {
	db, at := o.Entry.DB, o.HLC.Time()
	done := o.Done()
	if len(done) == 0 {
		return nil
	}
	out := withCurrentAgain(v, db, keyEvents(v, o), 0)
	for _, op := range done {
		out = append(out, withCurrentAgain(v, db, events(v, db, op, at), oplog.When(op))...)
	}
	return out
}

// keyEvents returns an event for each memory that had expired when the entry gave its key to another memory.
func keyEvents(v *state.View, o *oplog.Outcome) (out []occurrence) {
	for _, r := range o.Results {
		for _, rid := range r.Rows {
			if m, ok := eventMemory(v, o.Entry.DB, rid); ok && m.Expired() && m.Updated <= o.HLC.Time() {
				out = append(out, occurrence{"forgotten", rid})
			}
		}
	}
	return out
}

// withCurrentAgain adds an event for each memory that is current again since the changes of a time.
func withCurrentAgain(v *state.View, db oplog.DB, out []occurrence, at oplog.Time) []occurrence {
	for _, n := range out {
		since := at
		switch m, ok := eventMemory(v, db, n.id); {
		case n.name == "forgotten" && ok:
			since = m.Updated // a sweep gives each its own
		case n.name != "corrected":
			continue
		}
		for _, rid := range v.CurrentAgain(db, n.id, since) {
			out = append(out, occurrence{"corrected", rid})
		}
	}
	return out
}

// events returns the events of what an operation names itself.
func events(v *state.View, db oplog.DB, op oplog.Op, at oplog.Time) (out []occurrence) {
	if marked, ok := op.(*oplog.Supersede); ok { // each is a revision of a memory
		for _, k := range marked.Marks {
			if m, ok := v.Memory(db, k.RID); ok && k.By != "" && m.Revision > k.Revision {
				out = append(out, occurrence{"corrected", k.RID})
			}
		}
		return out
	}
	switch op := op.(type) {
	case *oplog.Foreign:
		if does := op.Effect(); does != nil {
			return events(v, db, does, at)
		}
	case *oplog.Recast:
		return recastEvents(op)
	case *oplog.Resolve:
		return resolvedEvents(v, db, op)
	case *oplog.TakeBack:
		for _, g := range op.Made {
			out = append(out, occurrence{"forgotten", g.RID})
		}
		for _, g := range op.Sources {
			out = append(out, occurrence{"corrected", g.RID})
		}
		return out
	}
	name, ok := eventTypes[op.Kind()]
	switch op := op.(type) {
	case *oplog.Remember:
		ok = !op.Held && (op.Was == nil || op.Was.Status != oplog.Quarantined)
	case *oplog.Correct:
		if op.Release { // it is there from now on
			name = eventTypes[oplog.KindOf[oplog.Remember]()]
		} else if m, there := v.Memory(db, op.RID); there && m.Status == oplog.Quarantined {
			ok = false
		}
	}
	if !ok {
		return nil
	}
	if c, ok := op.(*oplog.Cognition); ok {
		return mindEvents(v, db, c)
	}
	if sweep, ok := op.(*oplog.Sweep); ok {
		return sweepEvents(v, db, sweep, at)
	}
	return []occurrence{{name, v.Subject(db, op)}}
}
