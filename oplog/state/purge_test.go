package state

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
)

// TestPurgeLeavesNoWord: of what a memory said, and of all that was made of it, no row holds a word after a purge, the window of the log
// included; what others say stays.
func TestPurgeLeavesNoWord(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "encrypted": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			s := mustOpenSealed(t, filepath.Join(t.TempDir(), "state"), keys)
			defer s.Close()
			mustApply(t, s, marked()...)
			rows := func() string {
				var b bytes.Buffer
				if err := s.Read(func(v *View) error {
					return v.rows(func(k, val []byte) error { b.Write(k); b.Write(val); return nil })
				}); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			if n := strings.Count(strings.ToLower(rows()), "zyx"); n < 30 {
				t.Fatalf("the word is there %d times: what is looked for was not written", n)
			}
			mustApply(t, s, record(20, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Purge{Before: 100, At: 200}}}}),
				record(21, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Remember{RID: "later", Text: "after", Created: 150}}}}))
			left := rows()
			for at := strings.Index(strings.ToLower(left), "zyx"); at >= 0; at = -1 {
				t.Errorf("left: %q", left[max(0, at-200):min(len(left), at+100)])
			}
			for _, stays := range []string{"Kept", "kept text", "kept-key"} {
				if !strings.Contains(left, stays) {
					t.Errorf("%q is gone", stays)
				}
			}
			if err := s.Verify(); err != nil {
				t.Error(err)
			}
			if err := s.Read(func(v *View) error {
				if v.Purged() != 20 {
					t.Errorf("purged at %d", v.Purged())
				}
				if st := v.Stats(1); st.Entities != 1 || st.OpenConflicts != 0 || st.PendingTriggers != 0 || st.Claims != 0 || st.Active != 2 {
					t.Errorf("counters: %+v", st)
				}
				return oneInWindow(t, v, 5)
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// marked is a history in which all that comes of some memories has the word, in any case of its letters.
func marked() []oplog.Record {
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
			keyed("zyx-key", &oplog.Remember{RID: "a", Text: "Zyx said hello", Namespace: "n", Created: 10, Metadata: []byte(`{"zyx":1}`), Speaker: "Zyx", Emotion: "zyx", Source: "zyx", Domain: "zyx",
				Entities: []oplog.Mention{{Name: "Zyx"}, {Name: "Kept"}}, Vector: oplog.MakeVector([]float32{1})}, &oplog.Stated{Texts: []oplog.Statements{{RID: "a", Claims: []oplog.Claim{claim("c1")}}}}),
			entry(&oplog.Remember{RID: "b", Text: "zyx in a batch", Namespace: "n", Created: 11, Key: "zyx-batch/1", Digest: []byte("zyx"), Entities: []oplog.Mention{{Name: "Old Zyx"}}}),
			keyed("kept-key", &oplog.Remember{RID: "k", Text: "kept text", Namespace: "n", Created: 150, Entities: []oplog.Mention{{Name: "Kept"}}}),
		}),
		record(4, []oplog.Entry{keyed("zyx-correct", &oplog.Correct{RID: "b", Text: &text, Reason: other, At: 12, Entities: []oplog.Mention{{Name: "Zyx New"}}})}),
		record(5, []oplog.Entry{entry(&oplog.SessionEnd{ID: "s", At: 13})}),
		record(6, []oplog.Entry{entry(&oplog.Cognition{At: 14,
			Conflicts: []oplog.ConflictRow{{ID: "x", A: "a", B: "b", Entity: "Zyx", Relation: "zyx", Reason: "zyx and not zyx", Detected: 14}},
			Triggers:  []oplog.TriggerRow{{ID: "t", Type: "decay", Reason: "zyx", Action: "ask about zyx", Sources: []string{"a"}, Entity: "Zyx", Cooldown: "zyx"}},
			Patterns:  []oplog.Pattern{{Key: "zyx", Description: "zyx often", Sources: []string{"b"}, Entities: []string{"Zyx"}}}})}),
		record(7, []oplog.Entry{entry(&oplog.Feedback{Judgements: []oplog.Judgement{{Query: "who is zyx", RID: "a", Relevant: true}}})}),
		record(8, []oplog.Entry{entry(&oplog.Remember{RID: "e", Text: "Ran zyx", Namespace: "sift/w", Created: 15},
			&oplog.Event{Workspace: "sift/w", Session: "es", Tool: "Bash", Hash: []byte("hash"), Payload: []byte(`{"command":"zyx"}`), Dir: "/home/w", Status: oplog.EventSummarized, Summary: "e", At: 15})}),
		record(9, []oplog.Entry{entry(&oplog.Remember{RID: "f", Text: "zyx forgotten", Namespace: "n", Created: 16, Entities: []oplog.Mention{{Name: "Gone Zyx"}}}), entry(&oplog.Forget{RID: "f", At: 17, Reason: other})}),
	}
}
