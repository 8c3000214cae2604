package state

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// A stepped state applies one entry a record. The log's time is a second later with each.
type stepped struct {
	*State
	t *testing.T
}

func newStepped(t *testing.T) stepped {
	s := stepped{mustOpen(t, filepath.Join(t.TempDir(), "state")), t}
	t.Cleanup(func() { s.Close() })
	s.apply(0, &oplog.Init{Cluster: "c", At: 1})
	return s
}

// apply applies an entry, which must not be rejected, and checks all counters and secondary rows.
func (s stepped) apply(db oplog.DB, ops ...oplog.Op) {
	s.t.Helper()
	out, err := s.Apply([]oplog.Record{record(s.Point().Index+1, []oplog.Entry{{Node: 1, DB: db, Ops: ops}})})
	must(s.t, err)
	if out[0].Err != nil {
		s.t.Fatalf("%T: %v", ops[0], out[0].Err)
	}
	must(s.t, s.Read(func(v *View) error { return checkIndexed(v, 1) }))
}

// secondsOn returns a time of the log some records later.
func (s stepped) secondsOn(n oplog.Index) oplog.Time {
	return oplog.MakeHLC(1_700_000_000_000+uint64(s.Point().Index+n)*1000, 0, 1).Time()
}

func (s stepped) memory(rid string) (m *oplog.Memory, revisions []oplog.Revision) {
	s.t.Helper()
	must(s.t, s.Inspect(func(v *View) {
		m, _ = memoryByRID(v.txn, 1, rid)
		revisions = v.Revisions(1, m.Seq)
	}))
	return m, revisions
}

// textOf returns a Remember of a text of its own.
func textOf(rid, path string, expires oplog.Time) *oplog.Remember {
	return &oplog.Remember{Content: oplog.Content{RID: rid, Text: "said by " + rid, Namespace: "n", Created: 5, Path: path, Expires: expires}}
}

// TestTheKeyOfAnExpiredSuccessor: a superseded memory gets the key of the memory that supersedes it, whose time is
// over and which no Sweep has forgotten yet. It is current from the time at which that one expired.
func TestTheKeyOfAnExpiredSuccessor(t *testing.T) {
	s := newStepped(t)
	over := s.secondsOn(4)
	s.apply(1, textOf("old", "", 0))
	s.apply(1, textOf("new", "/a", over))
	s.apply(1, &oplog.Supersede{Marks: []oplog.Mark{{RID: "old", By: "new", Record: oplog.ConflictRow{ID: "c"}}}, At: 9})
	s.apply(1, &oplog.Expect{RID: "old", Revision: 1}) // time passes
	s.apply(1, &oplog.Correct{RID: "old", Place: oplog.Place{Path: new("/a/b")}, At: over + 1})
	m, revisions := s.memory("old")
	var got []string
	for _, r := range revisions {
		got = append(got, fmt.Sprint(r.Reason, " by=", r.By))
	}
	want := []string{"superseded by new by=", "what superseded it was forgotten by=new", " by="}
	if m.By != "" || m.Path != "/a/b" || m.Revision != 3 || !slices.Equal(got, want) {
		t.Errorf("%+v was %q, want %q", m, got, want)
	}
	s.apply(1, &oplog.Forget{RID: "old", At: over + 2})
}

// TestErasingAnExpiredHolder: erasing one source of a merge brings the other one back, whose key an expired memory
// has that is erased with it. That one is forgotten once.
func TestErasingAnExpiredHolder(t *testing.T) {
	s := newStepped(t)
	over := s.secondsOn(5)
	made := textOf("p", "", 0)
	made.Metadata = []byte(`{"consolidated_from":["a","b"]}`)
	s.apply(1, textOf("a", "/k", 0))
	s.apply(1, textOf("b", "", 0))
	s.apply(1, &oplog.Recast{Sources: []oplog.Grounds{{RID: "a"}, {RID: "b"}}, Into: []oplog.Remember{*made}, At: 7})
	s.apply(1, textOf("holder", "/k", over))
	s.apply(1, &oplog.Expect{RID: "p"}) // time passes
	s.apply(1, &oplog.Purge{RIDs: []string{"b", "holder"}, Salt: make([]byte, oplog.MinSalt), At: over + 1})
	if m, _ := s.memory("a"); m.Status != oplog.Active || m.Path != "/k" {
		t.Errorf("the other source is %+v", m)
	}
	if m, _ := s.memory("holder"); !erased(m) {
		t.Errorf("of the memory that had the key is left %+v", m)
	}
}

// TestErasedRevisionsKnowTheirSources: after an earlier revision of a merged memory or of a part was erased for good,
// erasing the memory still reaches what it was made of.
func TestErasedRevisionsKnowTheirSources(t *testing.T) {
	for name, made := range map[string][]string{"merged": {"p"}, "split": {"p", "q"}} {
		t.Run(name, func(t *testing.T) {
			s := newStepped(t)
			op := &oplog.Recast{Sources: []oplog.Grounds{{RID: "a"}}, At: 7}
			s.apply(1, textOf("a", "", 0))
			if name == "merged" {
				s.apply(1, textOf("b", "", 0))
				op.Sources = append(op.Sources, oplog.Grounds{RID: "b"})
			}
			for _, rid := range made {
				into := textOf(rid, "", 0)
				if into.Metadata = []byte(`{"consolidated_from":["a","b"],"said":"x"}`); name == "split" {
					into.Metadata = []byte(`{"split_from":"a","said":"x"}`)
				}
				op.Into = append(op.Into, *into)
			}
			s.apply(1, op)
			s.apply(1, &oplog.Correct{RID: "p", Text: new("corrected"), Metadata: []byte(`{}`), At: 8})
			salt := make([]byte, oplog.MinSalt)
			s.apply(1, &oplog.Purge{RIDs: []string{"p"}, Past: []uint32{0}, Salt: salt, At: 9})
			if _, revisions := s.memory("p"); revisions[0].Text != "" || string(revisions[0].Metadata) !=
				map[string]string{"merged": `{"consolidated_from":["a","b"]}`, "split": `{"split_from":"a"}`}[name] {
				t.Errorf("the erased revision is %+v", revisions[0])
			}
			s.apply(1, &oplog.Purge{RIDs: []string{"p"}, Salt: salt, At: 10})
			for _, rid := range []string{"p", "a"} {
				if m, _ := s.memory(rid); m.Text != "" {
					t.Errorf("left: %+v", m)
				}
			}
		})
	}
}

// TestAnImportedMarkEnds: an imported memory that another one supersedes is current again when that one is corrected,
// forgotten or moved, in whatever order the two were imported.
func TestAnImportedMarkEnds(t *testing.T) {
	old := textOf("old", "", 0)
	old.Was = &oplog.History{Past: oplog.Past{Revision: 1, By: "new", Surely: true}, Revisions: []oplog.Revision{
		{Text: "said by old", Namespace: "n", From: 5, Until: 9, Reason: oplog.SupersededBy + "new"}}}
	for name, ends := range map[string]oplog.Op{"corrected": &oplog.Correct{RID: "new", Text: new("another"), At: 20},
		"forgotten": &oplog.Forget{RID: "new", At: 20},
		"moved":     &oplog.Correct{RID: "new", Place: oplog.Place{Namespace: new("elsewhere")}, At: 20}} {
		for _, first := range []bool{true, false} {
			s := newStepped(t)
			imports := []oplog.Op{old, textOf("new", "", 0)}
			if !first {
				slices.Reverse(imports)
			}
			s.apply(1, imports[0])
			s.apply(1, imports[1])
			must(t, s.Inspect(func(v *View) {
				for c := range v.ConflictsOf(1, "new") {
					if c.Winner != "new" || c.Strategy != oplog.Superseded || c.Detected != 9 || c.Other("new") != "old" {
						t.Errorf("%s: the contradiction is %+v", name, c)
					}
				}
			}))
			s.apply(1, ends)
			if m, revisions := s.memory("old"); m.By != "" || m.Revision != 2 || revisions[1].By != "new" {
				t.Errorf("%s, the older first %t: %+v was %+v", name, first, m, revisions)
			}
		}
	}
}
