package state

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// FuzzStreams: a stream that is not a snapshot leaves the state unchanged. A stream that is not a range of the log is
// an error.
func FuzzStreams(f *testing.F) {
	s := mustOpen(f, filepath.Join(f.TempDir(), "state"))
	mustApply(f, s, markedHistory()...)
	whole, log := snapshotOf(f, s), new(bytes.Buffer)
	must(f, s.Read(func(v *View) error { return v.WriteRange(log, 0) }))
	s.Close()
	f.Add(whole.Bytes())
	f.Add(whole.Bytes()[:whole.Len()/2])
	f.Add(log.Bytes())
	f.Add([]byte("CAIRNSNP\x02 what an older version wrote"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
		defer s.Close()
		at, sum := s.Sum()
		if s.Restore(bytes.NewReader(in), nil) != nil {
			if i, x := s.Sum(); i != at || x != sum {
				t.Fatal("a refused snapshot changed the state")
			}
		}
		_, _ = s.ApplyRange(bytes.NewReader(in), func(at oplog.Index, _ oplog.Time) bool { return at <= 1000 }) // the input may be a valid range
	})
}
