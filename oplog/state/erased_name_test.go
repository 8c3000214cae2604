package state

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestErasingLeavesNoName: a name that only a relation had goes with it, and the former key of a memory goes with the
// memory, also if another memory took the key before the first one came back from a merge.
func TestErasingLeavesNoName(t *testing.T) {
	t.Parallel()
	salt := make([]byte, oplog.MinSalt)
	memory := func(rid, path string) *oplog.Remember {
		return &oplog.Remember{Content: oplog.Content{RID: rid, Text: "of " + rid, Namespace: "default", Path: path, Created: 1,
			Metadata: []byte(`{"consolidated_from":["a","b"]}`)}}
	}
	for name, ops := range map[string][]oplog.Op{
		"relation": {&oplog.Relate{ID: "e", Src: "Zyx", Dst: "Max", Type: "knows", At: 1}, &oplog.Unrelate{ID: "e", At: 2}},
		"key": {memory("a", "/Zyx"), memory("b", ""),
			&oplog.Recast{Sources: []oplog.Grounds{{RID: "a"}, {RID: "b"}}, Into: []oplog.Remember{*memory("c", "")}, At: 2},
			memory("d", "/Zyx"), &oplog.Purge{RIDs: []string{"b"}, Salt: salt, At: 3}, &oplog.Purge{RIDs: []string{"a", "d"}, Salt: salt, At: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
			defer s.Close()
			entries := []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}}
			for _, op := range ops {
				entries = append(entries, oplog.Entry{DB: 1, Ops: []oplog.Op{op}})
			}
			mustApply(t, s, record(1, entries))
			must(t, s.Read(func(v *View) error {
				return v.rows(func(k, val []byte) error {
					if bytes.Contains(k, []byte("Zyx")) || bytes.Contains(val, []byte("Zyx")) {
						t.Errorf("left: %q %q", k, val)
					}
					return nil
				})
			}))
		})
	}
}
