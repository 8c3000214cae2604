package state

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot/snapshottest"
)

// TestPurgeLeavesNoWord: after a purge, no row contains a word of a purged memory or of data derived from it,
// including the window of the log. Other memories stay.
func TestPurgeLeavesNoWord(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]*oplog.Purge{"plain": {Before: 100, At: 200}, "encrypted": {Before: 100, At: 200},
		"for good": {RIDs: []string{"a", "b", "e", "f"}, Claims: []string{"c1"},
			Name: oplog.NameHash(make([]byte, oplog.MinSalt), "Zyx"), Salt: make([]byte, oplog.MinSalt), At: 200}} {
		t.Run(name, func(t *testing.T) {
			var keys *seal.Ring
			if name == "encrypted" {
				keys = seal.Ephemeral([]seal.Master{seal.NewMaster()})
			}
			dir := t.TempDir()
			s, restored := mustOpenSealed(t, filepath.Join(dir, "state"), keys), mustOpenSealed(t, filepath.Join(dir, "restored"), keys)
			defer s.Close()
			defer restored.Close()
			history, half := historyWithWord(), oplog.Index(5)
			mustApply(t, s, history[:half]...)
			must(t, restored.Restore(snapshotOf(t, s), nil))
			mustApply(t, s, history[half:]...)
			rows := func(s *State) string {
				var b bytes.Buffer
				must(t, s.Read(func(v *View) error {
					return v.rows(func(k, val []byte) error { b.Write(k); b.Write(val); return nil })
				}))
				return b.String()
			}
			if n, half := strings.Count(strings.ToLower(rows(s)), "zyx"), strings.Count(strings.ToLower(rows(restored)), "zyx"); n < 30 ||
				half < 10 {
				t.Fatalf("the word is there %d times, and %d times in the backup: what is looked for was not written", n, half)
			}
			mustApply(t, s, record(20, []oplog.Entry{{DB: 1, Ops: []oplog.Op{op}}}),
				record(21, []oplog.Entry{{DB: 1,
					Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "later", Text: "after", Created: 150}}}}}))
			var log bytes.Buffer
			must(t, s.Read(func(v *View) error { return v.WriteRange(&log, half) }))
			left := map[string]string{"state": rows(s), "backup of the log": string(snapshottest.Range(t, bytes.NewReader(log.Bytes())))}
			if done, err := restored.ApplyRange(&log, upTo(21)); err != nil || !done.Complete || restored.Point() != s.Point() {
				t.Errorf("restored: %+v, %v", done, err)
			}
			left["restored state"] = rows(restored)
			for where, left := range left {
				for at := strings.Index(strings.ToLower(left), "zyx"); at >= 0; at = -1 {
					t.Errorf("left in the %s: %q", where, left[max(0, at-200):min(len(left), at+100)])
				}
				for _, stays := range []string{"Kept", "kept text", "kept-key"} {
					if !strings.Contains(left, stays) {
						t.Errorf("%q is gone from the %s", stays, where)
					}
				}
			}
			must(t, errors.Join(s.Verify(), restored.Verify()))
			must(t, s.Read(func(v *View) error {
				if v.Purged() != 20 {
					t.Errorf("purged at %d", v.Purged())
				}
				if st := v.Stats(1); st.Entities != 1 || st.OpenConflicts != 0 || st.PendingTriggers != 0 || st.Claims != 0 ||
					st.Active != 2 {
					t.Errorf("counters: %+v", st)
				}
				return oneInWindow(t, v)
			}))
		})
	}
}

// historyWithWord returns a history in which all data derived from some memories contains the word, in any case of
// letters.
func historyWithWord() []oplog.Record {
	text, other := "Zyx Corrected again", "zyx reason"
	claim := func(id string) oplog.Claim {
		return oplog.Claim{ID: id, Src: "Zyx", Type: "works_at", Dst: "Zyx Corp", Polarity: 1, Extractor: "x"}
	}
	entry := func(ops ...oplog.Op) oplog.Entry { return oplog.Entry{DB: 1, Ops: ops} }
	keyed := func(key string, ops ...oplog.Op) oplog.Entry {
		return oplog.Entry{DB: 1, Key: key, Digest: []byte("digest of " + strings.TrimSuffix(key, "-key")), Ops: ops}
	}
	return []oplog.Record{
		record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}),
		record(2, []oplog.Entry{entry(&oplog.SessionStart{ID: "s", Namespace: "n", At: 1})}),
		record(3, []oplog.Entry{
			keyed("zyx-key", &oplog.Remember{Content: oplog.Content{RID: "a", Text: "Zyx said hello", Namespace: "n", Created: 10,
				Metadata: []byte(`{"zyx":1}`), Speaker: "Zyx", Emotion: "zyx", Source: "zyx", Domain: "zyx"},
				Entities: []oplog.Mention{{Name: "Zyx"}, {Name: "Kept"}}, Vector: oplog.MakeVector([]float32{1})},
				&oplog.Stated{Texts: []oplog.Statements{{RID: "a", Claims: []oplog.Claim{claim("c1")}}}}),
			entry(&oplog.Remember{Content: oplog.Content{RID: "b", Text: "zyx in a batch", Namespace: "n", Created: 11}, Key: "zyx-batch/1",
				Digest: []byte("zyx"), Entities: []oplog.Mention{{Name: "Old Zyx"}}}),
			keyed("kept-key", &oplog.Remember{Content: oplog.Content{RID: "k", Text: "kept text", Namespace: "n", Created: 150},
				Entities: []oplog.Mention{{Name: "Kept"}}}),
		}),
		record(4, []oplog.Entry{keyed("zyx-correct",
			&oplog.Correct{RID: "b", Text: &text, Reason: other, At: 12, Entities: []oplog.Mention{{Name: "Zyx New"}}})}),
		record(5, []oplog.Entry{entry(&oplog.SessionEnd{ID: "s", At: 13})}),
		record(6, []oplog.Entry{entry(&oplog.Cognition{At: 14,
			Conflicts: []oplog.ConflictRow{{ID: "x", A: "a", B: "b", Entity: "Zyx", Relation: "zyx",
				Reason: "zyx and not zyx", Detected: 14}},
			Triggers: []oplog.TriggerRow{{ID: "t", Type: "decay", Reason: "zyx", Action: "ask about zyx",
				Sources: []string{"a"}, Entity: "Zyx", Cooldown: "zyx"}},
			Patterns: []oplog.Pattern{{Key: "zyx", Description: "zyx often", Sources: []string{"b"}, Entities: []string{"Zyx"}}}})}),
		record(7, []oplog.Entry{entry(&oplog.Feedback{Judgements: []oplog.Judgement{{Query: "who is zyx", RID: "a", Relevant: true}}})}),
		record(8, []oplog.Entry{entry(&oplog.Remember{Content: oplog.Content{RID: "e", Text: "Ran zyx", Namespace: "sift/w", Created: 15}},
			&oplog.Event{Workspace: "sift/w", Session: "es", Tool: "Bash", Hash: []byte("hash"),
				Payload: []byte(`{"command":"zyx"}`), Dir: "/home/w", Status: oplog.EventSummarized, Summary: "e", At: 15})}),
		record(9, []oplog.Entry{entry(&oplog.Remember{Content: oplog.Content{RID: "f", Text: "zyx forgotten", Namespace: "n", Created: 16},
			Entities: []oplog.Mention{{Name: "Gone Zyx"}}}), entry(&oplog.Forget{RID: "f", At: 17, Reason: other})}),
	}
}

// TestAPurgeLeavesTheLogOfOthers: a purge does not affect a reader of another database's log, before and after the
// entries are erased from the records. A reader of the purged database begins after the purge.
func TestAPurgeLeavesTheLogOfOthers(t *testing.T) {
	t.Parallel()
	log := &memoryLog{records: map[oplog.Index][]byte{}}
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{Records: log, NoSync: true})
	must(t, err)
	defer s.Close()
	remember := func(db oplog.DB, rid string) oplog.Entry {
		return oplog.Entry{DB: db,
			Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: rid, Text: "said by " + rid, Namespace: "n", Created: 10}}}}
	}
	mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}}),
		record(2, []oplog.Entry{{Ops: []oplog.Op{&oplog.CreateDB{Name: "other", At: 1}}}}),
		record(3, []oplog.Entry{remember(1, "gone"), remember(2, "beside")}), record(4, []oplog.Entry{remember(2, "alone")}),
		record(5, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Purge{Before: 100, At: 200}}}}),
		record(6, []oplog.Entry{remember(1, "later"), remember(2, "last")}))
	want := func(db oplog.DB, rids ...string) {
		t.Helper()
		var got []string
		must(t, s.Read(func(v *View) error {
			return v.Log(0, func(o oplog.Outcome) bool {
				if r, ok := o.Entry.Ops[0].(*oplog.Remember); ok && o.Entry.DB == db {
					got = append(got, r.RID)
				}
				return true
			})
		}))
		if !slices.Equal(got, rids) {
			t.Errorf("the log of database %d has %q, want %q", db, got, rids)
		}
	}
	want(1, "later")
	want(2, "beside", "alone", "last")
	must(t, s.Read(func(v *View) error {
		purges := v.Purges()
		for i := range 5 {
			if rec, err := purges.Erase(uint64(i+1), log.records[oplog.Index(i+1)]); err != nil {
				return err
			} else if rec != nil {
				log.records[oplog.Index(i+1)] = rec
			}
		}
		if b := log.records[3]; bytes.Contains(b, []byte("gone")) || !bytes.Contains(b, []byte("said by beside")) {
			t.Errorf("the record of both has %q", b)
		}
		if _, trimmed := v.TrimmedIn(2); trimmed || v.LogStart(2) != 1 || v.LogStart(1) != 6 {
			t.Errorf("the logs begin at %d and %d; the other is trimmed: %t", v.LogStart(1), v.LogStart(2), trimmed)
		}
		return nil
	}))
	want(1, "later")
	want(2, "beside", "alone", "last")
	learned := &oplog.Partition{At: 4}
	out, err := s.Apply([]oplog.Record{record(7, []oplog.Entry{{DB: 1, Ops: []oplog.Op{learned}}, {DB: 2, Ops: []oplog.Op{learned}}})})
	must(t, err)
	if out[0].Err == nil || out[0].Err.Kind != oplog.Conflict || out[1].Err != nil {
		t.Errorf("partitions of vectors from before the purge: %v; of the other database: %v", out[0].Err, out[1].Err)
	}
}
