package state

import (
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestAStatementWithoutItsClaim: a state that an older version made may have a statement whose claim was dropped. The
// next statement of it makes another.
func TestAStatementWithoutItsClaim(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	c := oplog.StoredClaim{Claim: oplog.Claim{ID: "new", Namespace: "default", Src: "Zoe", Type: "knows", Dst: "Max", SourceRID: "m1"}}
	mustApply(t, s, record(1, []oplog.Entry{{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}}))
	must(t, s.change(func(tx *txn, _ *position) error {
		tx.put(tStatement, 1, sourceStatementKey(&c), []byte("dropped"))
		return nil
	}))
	mustApply(t, s, record(2, []oplog.Entry{{Node: 1, DB: 1, Ops: []oplog.Op{&oplog.Assert{Claim: c.Claim}}}}))
	must(t, s.Read(func(v *View) error {
		if made, ok := v.Claim(1, "new"); !ok || made.Dst != "Max" {
			t.Errorf("%+v, %v", made, ok)
		}
		if id := v.get(tStatement, 1, sourceStatementKey(&c)); id != nil {
			t.Errorf("the old statement is still of %q", id)
		}
		return nil
	}))
}
