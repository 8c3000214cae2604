package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// mind prints the results of thinking in a database.
func (e *scriptEnv) mind(t *testing.T) string {
	var b strings.Builder
	err := e.s.Read(func(v *View) error {
		st := v.Stats(1)
		fmt.Fprintf(&b, "active=%d consolidated=%d tombstoned=%d open_conflicts=%d pending_triggers=%d\n", st.Active,
			st.Consolidated, st.Tombstoned,
			st.OpenConflicts, st.PendingTriggers)
		v.Conflicts(1, nil, func(c oplog.ConflictRow) bool {
			fmt.Fprintf(&b, "conflict %s %s %s %s %s/%s %s winner=%s merged=%s\n", c.ID, c.Status, c.Type, c.Priority, c.A,
				c.B, c.Strategy, c.Winner, c.Merged)
			return true
		})
		for s := oplog.TriggerPending; s <= oplog.TriggerExpired; s++ {
			v.Triggers(1, s, func(x oplog.TriggerRow) bool {
				fmt.Fprintf(&b, "trigger %s %s %s\n", x.ID, x.Type, x.Status)
				return true
			})
		}
		v.Patterns(1, func(p oplog.Pattern) bool {
			fmt.Fprintf(&b, "pattern %s seen=%d confidence=%.2f\n", p.Key, p.Seen, p.Confidence)
			return true
		})
		w, _ := v.Weights(1)
		fmt.Fprintf(&b, "mind %+v depth=%.2f weights=%.2f/%d promote=%d\n", v.Mind(1, ""), v.Personality(1).Depth, w.Sim,
			w.Generation, v.Settings(1).PromoteAfter)
		v.EachNamespace(1, oplog.Reach{}, func(namespace string, _ oplog.Counts) bool {
			if m := v.Mind(1, namespace); m != (oplog.Mind{}) {
				fmt.Fprintf(&b, "mind of %s %+v\n", namespace, m)
			}
			return true
		})
		v.Reread(1, 0, func(m *oplog.Memory) bool {
			fmt.Fprintf(&b, "reread %s\n", m.RID)
			return true
		})
		v.Memories(1, 0, func(m *oplog.Memory) bool {
			if m.Into != "" || m.Merged > 0 {
				fmt.Fprintf(&b, "memory %s %s into=%s made_of=%d importance=%.2f\n", m.RID, m.Status, m.Into, m.Merged, m.Importance)
			}
			return true
		})
		return nil
	})
	must(t, err)
	return b.String()
}

// mindOp draws an operation of the mind.
func mindOp(t *rapid.T, id func(string) string, at oplog.Time) oplog.Op {
	grounds := func() oplog.Grounds {
		return oplog.Grounds{RID: id("m"), Revision: uint32(rapid.IntRange(0, 1).Draw(t, "revision"))}
	}
	switch rapid.IntRange(0, 8).Draw(t, "mind") {
	case 0:
		return &oplog.Cognition{At: at, Conflicts: []oplog.ConflictRow{{ID: id("c"), Type: "minor", A: id("m"), B: id("m"), Detected: at}},
			Triggers: []oplog.TriggerRow{{ID: id("t"), Cooldown: id("k"), CoolFor: 5, Created: at, Expires: at + 9}},
			Expired:  []string{id("t")}}
	case 1, 2:
		return &oplog.Cognition{At: at, Last: true, Merges: []oplog.Merge{{Into: oplog.Remember{Content: oplog.Content{RID: id("x"),
			Text: "merged", Namespace: id("ns"), Created: at}, Entities: []oplog.Mention{{Name: id("e")}}},
			Sources: []oplog.Grounds{grounds(), grounds()}}}, Retier: []oplog.Retier{{RID: id("m"), To: "longterm"}},
			Patterns: []oplog.Pattern{{Key: id("p")}},
			Read:     oplog.Seq(rapid.IntRange(0, 20).Draw(t, "read")), Reread: []oplog.Grounds{grounds()},
			Namespace: rapid.SampledFrom([]string{"", "", id("ns"), "nowhere"}).Draw(t, "of")}
	case 3:
		return &oplog.Resolve{ID: id("c"),
			Strategy: rapid.SampledFrom([]string{oplog.KeepA, oplog.KeepB, oplog.KeepBoth, oplog.MergeAB,
				oplog.Dismiss}).Draw(t, "strategy"),
			Merged: &oplog.Remember{Content: oplog.Content{RID: id("y"), Text: "both", Namespace: "ns1", Created: at}}, At: at}
	case 4:
		return &oplog.TriggerMove{ID: id("t"), To: oplog.TriggerStatus(rapid.IntRange(1, 5).Draw(t, "status")), At: at}
	case 5:
		return &oplog.Purge{Before: at - oplog.Time(rapid.IntRange(0, 500).Draw(t, "age")), Namespace: id("ns"), At: at}
	case 7:
		return &oplog.HandOn{Edges: []oplog.Copied{{Into: id("x"), Of: id("edge"), ID: id("copy")}}, At: at}
	case 6:
		return &oplog.SetSettings{Settings: oplog.Settings{PromoteAfter: uint64(rapid.IntRange(0, 9).Draw(t, "promote")), Updated: at}}
	default:
		return &oplog.Feedback{Judgements: []oplog.Judgement{{Query: id("q"), RID: id("m"), At: at}}}
	}
}

// countMind compares the counters of the mind with its rows.
func countMind(v *View) error {
	var open, pending uint64
	v.Conflicts(1, []oplog.ConflictStatus{oplog.ConflictOpen}, func(oplog.ConflictRow) bool { open++; return true })
	v.Triggers(1, oplog.TriggerPending, func(oplog.TriggerRow) bool { pending++; return true })
	if st := v.Stats(1); st.OpenConflicts != open || st.PendingTriggers != pending {
		return fmt.Errorf("counters %+v, counted %d open conflicts, %d pending triggers", st, open, pending)
	}
	if v.Mind(1, "nowhere") != (oplog.Mind{}) {
		return errors.New("a namespace without memories has thought")
	}
	for k := range v.scan(tReread, 1, nil) {
		if m, ok := v.StoredMemoryAt(1, seqOf(k)); !ok || m.Status == oplog.Tombstoned {
			return fmt.Errorf("memory %d is to be read again, and is forgotten", seqOf(k))
		}
	}
	return nil
}

// TestFiveThousandOperations: a long history produces one state with one hash, in one batch or in many, with restarts
// and a snapshot in the middle.
func TestFiveThousandOperations(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: one operation after the other, which takes the race detector too long")
	}
	for seed := range 3 {
		records := rapid.Custom(func(t *rapid.T) []oplog.Record { return historyOf(t, 1250, 60) }).Example(seed)
		ops := 0
		for _, r := range records {
			_, bodies, err := oplog.DecodeRecord(r.Data)
			must(t, err)
			for _, b := range bodies {
				e, err := oplog.DecodeEntry(b)
				must(t, err)
				ops += len(e.Ops)
			}
		}
		if ops < 5000 {
			t.Fatalf("only %d operations", ops)
		}
		dir := t.TempDir()
		a := mustOpen(t, filepath.Join(dir, "a"))
		mustApply(t, a, records...)
		rapid.Check(t, func(t *rapid.T) {
			if rapid.IntRange(0, 49).Draw(t, "of fifty") > 0 {
				return // the other checks run many small histories
			}
			path := filepath.Join(dir, oplog.NewID())
			b := mustOpen(t, path)
			defer func() { b.Close() }()
			for i := 0; i < len(records); {
				n := rapid.IntRange(1, 200).Draw(t, "batch")
				mustApply(t, b, records[i:min(len(records), i+n)]...)
				i += n
				switch rapid.IntRange(0, 9).Draw(t, "then") {
				case 0:
					b.Close()
					b = mustOpen(t, path)
				case 1:
					path = filepath.Join(dir, oplog.NewID())
					b = reopenFromSnapshot(t, b, path, nil)
				}
			}
			same(t, a, b)
		})
		a.Close()
		t.Logf("seed %d: %d operations", seed, ops)
	}
}

// TestPages: a client that reads relations and claims page by page gets each of them once, in an encrypted state too.
func TestPages(t *testing.T) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "encrypted": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		e := newEnv(t, keys)
		const n = 100
		in := oplog.Entry{DB: 1}
		for i := range n {
			in.Ops = append(in.Ops, &oplog.Relate{ID: fmt.Sprint("e", i), Src: "a", Dst: fmt.Sprint(i), Type: "r"},
				&oplog.Claim{ID: fmt.Sprint("c", i), Src: "a", Dst: fmt.Sprint(i), Type: "r"})
		}
		mustApply(t, e.s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}), record(2, []oplog.Entry{in}))
		if err := e.s.Read(func(v *View) error {
			for what, page := range map[string]func(behind string, f func(id string) bool){
				"relations": func(id string, f func(string) bool) { v.EdgesBehind(1, id, func(x oplog.Edge) bool { return f(x.ID) }) },
				"claims": func(id string, f func(string) bool) {
					v.ClaimsBehind(1, id, func(x oplog.StoredClaim) bool { return f(x.ID) })
				},
			} {
				seen := map[string]bool{}
				for last, pages, more := "", 0, true; more && pages <= n; pages++ {
					left := 7
					more = false
					page(last, func(id string) bool {
						if left == 0 {
							more = true
							return false
						}
						left--
						if seen[id] {
							t.Errorf("%s: %s comes twice", what, id)
						}
						seen[id], last = true, id
						return true
					})
				}
				if len(seen) != n {
					t.Errorf("%s, %s: %d of %d", name, what, len(seen), n)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
