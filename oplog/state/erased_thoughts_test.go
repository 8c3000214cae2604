package state

import (
	"bytes"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestErasingLeavesNoThought: an erasure leaves no word of what was erased in thoughts that name no memory, in
// contradictions of relations and of claims, and in the topics of sessions. Thoughts about others stay.
func TestErasingLeavesNoThought(t *testing.T) {
	t.Parallel()
	salt := make([]byte, oplog.MinSalt)
	said := func(rid, session string, at oplog.Time, names ...string) *oplog.Remember {
		m := textOf(rid, "", 0)
		m.Session, m.Created = session, at
		for _, name := range names {
			m.Entities = append(m.Entities, oplog.Mention{Name: name})
		}
		return m
	}
	for name, erases := range map[string][]oplog.Op{
		"name": {&oplog.Unrelate{ID: "e1"}, &oplog.Unrelate{ID: "e2"},
			&oplog.Purge{RIDs: []string{"a", "b"}, Claims: []string{"c1", "c2"}, Name: oplog.NameHash(salt, "Zyx"), Salt: salt, At: 90}},
		"age": {&oplog.Unrelate{ID: "e1"}, &oplog.Unrelate{ID: "e2"}, &oplog.Purge{Claims: []string{"c1", "c2"},
			Name: oplog.NameHash(salt, "Zyx"), Salt: salt, At: 89}, &oplog.Purge{Before: 50, At: 90}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStepped(t)
			s.apply(1, &oplog.SessionStart{ID: "s1", Namespace: "n", Client: "1", At: 1}, &oplog.SessionStart{ID: "s2", Namespace: "n", Client: "2", At: 1})
			s.apply(1, said("a", "s1", 10, "Zyx", "Kept"), said("b", "s2", 11, "Zyx", "Kept"), said("k", "s2", 60, "Kept"))
			s.apply(1, &oplog.SessionEnd{ID: "s1", At: 12}, &oplog.SessionEnd{ID: "s2", At: 12})
			s.apply(1, &oplog.Relate{ID: "e1", Src: "Zyx", Dst: "Max", Type: "works_at", At: 13},
				&oplog.Relate{ID: "e2", Src: "Max", Dst: "Zyx", Type: "works_at", At: 13},
				&oplog.Relate{ID: "e3", Src: "Max", Dst: "Kept", Type: "works_at", At: 13},
				&oplog.Claim{ID: "c1", Namespace: "n", Src: "Zyx", Type: "works_at", Dst: "Max", Polarity: 1, At: 13},
				&oplog.Claim{ID: "c2", Namespace: "n", Src: "Max", Type: "works_at", Dst: "Zyx", Polarity: 1, At: 13})
			conflict := func(id, a, b string) oplog.ConflictRow {
				return oplog.ConflictRow{ID: id, A: a, B: b, Entity: "Max", Relation: "works_at", Reason: "Kept or Zyx", Namespace: "n", Detected: 14}
			}
			s.apply(1, &oplog.Cognition{At: 14,
				Conflicts: []oplog.ConflictRow{conflict("x1", "edge:e2", "edge:e3"), conflict("x2", "claim:c1", "claim:c2"),
					{ID: "x3", A: "edge:e3", B: "k", Entity: "Kept", Reason: "of others", Namespace: "n", Detected: 14}},
				Triggers: []oplog.TriggerRow{{ID: "t1", Entity: "Zyx", Reason: "Zyx has 5 relations", Cooldown: "Zyx"},
					{ID: "t2", Entity: "Zyx/entity_bridge", Reason: "Zyx connects [a b]", Cooldown: "bridge Zyx"},
					{ID: "t3", Entity: "co_occurrence\x00Max\x00Zyx", Reason: "Max and Zyx", Cooldown: "co Zyx"},
					{ID: "t4", Entity: "Kept", Reason: "has 5 relations", Cooldown: "Kept"},
					{ID: "t5", Reason: "3 conflicts are open", Cooldown: "open"},
					{ID: "t6", Entity: "Kept/entity_hub", Reason: "at the centre", Cooldown: "hub Kept"},
					{ID: "t7", Entity: "temporal_cluster\x0037", Reason: "9 memories of Monday", Cooldown: "Monday"}},
				Patterns: []oplog.Pattern{{Key: "entity_hub\x00Zyx", Description: "Zyx is at the centre", Entities: []string{"Zyx"}},
					{Key: "co_occurrence\x00Kept\x00Zyx", Description: "Kept and Zyx", Entities: []string{"Kept", "Zyx"}},
					{Key: "entity_hub\x00Kept", Description: "at the centre", Entities: []string{"Kept"}},
					{Key: "temporal_cluster\x0037", Description: "9 memories of Monday"}}})
			s.apply(1, &oplog.Resolve{ID: "x2", Strategy: oplog.KeepBoth, Note: "both of Zyx", At: 15})
			s.apply(1, erases...)
			must(t, s.Read(func(v *View) error {
				for k, val := range v.walk(replicated(1), false) {
					if bytes.Contains(k, []byte("Zyx")) || bytes.Contains(val, []byte("Zyx")) {
						t.Errorf("left in %s: %q %q", tableNames[tableID(k[4])], k[rowHead:], val)
					}
				}
				for _, id := range []string{"t4", "t5", "t6", "t7"} {
					if _, ok := v.Trigger(1, id); !ok {
						t.Errorf("trigger %s is gone", id)
					}
				}
				if !v.exists(tPattern, 1, []byte("entity_hub\x00Kept")) {
					t.Error("a pattern of another name is gone")
				}
				if c, _ := v.Conflict(1, "x3"); c.Status != oplog.ConflictOpen || c.Reason != "of others" {
					t.Errorf("a contradiction of others is %+v", c)
				}
				if x, _ := v.Session(1, "s2"); len(x.Topics) != 1 {
					t.Errorf("the session is about %q", x.Topics)
				}
				return nil
			}))
		})
	}
}
