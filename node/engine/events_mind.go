package engine

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// meant is one thing that an operation means to a subscriber.
type meant struct{ name, id string }

// mindEvents takes a round of cognition apart: each decision that the state took is an event. A decision that Apply dropped
// is none.
func mindEvents(v *state.View, db oplog.DB, op *oplog.Cognition) (out []meant) {
	for i := range op.Conflicts {
		if id := op.Conflicts[i].ID; has(v.Conflict(db, id)) {
			out = append(out, meant{"conflict", id})
		}
	}
	for i := range op.Merges {
		if id := op.Merges[i].Into.RID; has(v.Memory(db, id)) {
			out = append(out, meant{"consolidated", id})
		}
	}
	for _, g := range op.Outdated {
		if m, ok := v.Memory(db, g.RID); ok && m.Status == oplog.Tombstoned {
			out = append(out, meant{"forgotten", g.RID})
		}
	}
	for i := range op.Triggers {
		if id := op.Triggers[i].ID; has(v.Trigger(db, id)) {
			out = append(out, meant{"trigger", id})
		}
	}
	return append(out, meant{"thought", ""})
}

func has[T any](_ T, ok bool) bool { return ok }

// occurrences are what an operation means to a subscriber, in order.
func occurrences(v *state.View, db oplog.DB, op oplog.Op) []meant {
	name, ok := eventTypes[op.Kind()]
	if !ok {
		return nil
	}
	if c, ok := op.(*oplog.Cognition); ok {
		return mindEvents(v, db, c)
	}
	return []meant{{name, oplog.Subject(op)}}
}

// leadership is the event "leader": the node that leads now, 0 while none does.
func (p *pusher) leadership() error {
	if !p.wants("leader") {
		return nil
	}
	id, _, _ := p.s.raft.Leader()
	if id == p.leader {
		return nil
	}
	p.leader = id
	b, err := json.Marshal(map[string]uint64{"leader": uint64(id), "term": p.s.raft.Term(), "index": uint64(p.s.commit.Indexed())})
	if err != nil {
		return err
	}
	return p.emit("leader", 0, b)
}
