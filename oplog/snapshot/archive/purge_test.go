package archive

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/store/storetest"
)

// TestAChainLeadsOverAPurge: a chain continues over a purge. The purged database cannot be restored to a point inside
// the range with the purge; the other one can.
func TestAChainLeadsOverAPurge(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, dir := newWorld(t, state.Options{}), t.TempDir()
			w.keys = keys
			said := map[oplog.DB][]string{}
			say := func(db oplog.DB) {
				rid := fmt.Sprint("m", w.at)
				w.apply(oplog.Entry{Node: 1, DB: db,
					Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: rid, Text: "text " + rid + ".",
						Created: oplog.Time(w.at)}}}})
				said[db] = append(said[db], "text "+rid+".")
			}
			w.apply(oplog.Entry{Node: 1, Ops: []oplog.Op{&oplog.CreateDB{Name: "other", At: 1}}})
			var ends []oplog.Index
			put := func(since oplog.Index) { w.put(dir, since); ends = append(ends, w.at) }
			say(1)
			say(2)
			put(0)
			say(1)
			put(ends[0])
			say(2)
			say(1)
			kept := len(said[2])
			w.apply(oplog.Entry{Node: 1, DB: 1, Ops: []oplog.Op{&oplog.Purge{Before: oplog.Time(w.at), At: oplog.Time(w.at)}}})
			purged := said[1]
			said[1] = nil
			say(1)
			point := w.at
			say(2)
			put(ends[1])
			say(1)
			put(ends[2])

			scratch := t.TempDir()
			restore := func(to Target) (*state.State, error) {
				t.Helper()
				path := filepath.Join(scratch, fmt.Sprint(to))
				if _, err := Restore(t.Context(), dir, path, to, keys); err != nil {
					return nil, err
				}
				s, err := state.Open(path, state.Options{Keys: keys})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s, nil
			}
			want := func(s *state.State, db oplog.DB, texts []string) {
				t.Helper()
				if got := textsOf(t, s, db); !slices.Equal(got, texts) {
					t.Errorf("database %d has %q, want %q", db, got, texts)
				}
			}
			if rep, err := Verify(t.Context(), dir, "", keys); err != nil || len(rep.Files) != 4 || rep.End != w.st.Point() {
				t.Fatalf("verify: %+v, %v", rep, err)
			}
			all, err := restore(Target{})
			if err != nil || all.Point() != w.st.Point() {
				t.Fatalf("restored: %v", err)
			}
			want(all, 1, said[1])
			want(all, 2, said[2])
			storetest.Files(t, scratch, func(path string, held []byte) {
				for _, text := range purged {
					if bytes.Contains(held, []byte(text)) {
						t.Errorf("%s holds %q", path, text)
					}
				}
			})
			for _, to := range []Target{{Index: point}, {Index: point, Database: "default"}, {Time: oplog.Time((w.ms - 2500) * 1000)}} {
				_, err := restore(to)
				if !errors.Is(err, ErrPurged) ||
					!strings.Contains(err.Error(),
						fmt.Sprintf("no entries of default; ask for index %d, or for index %d or earlier", ends[2], ends[1]+1)) {
					t.Errorf("a point inside, %+v: %v", to, err)
				}
			}
			for _, at := range []oplog.Index{ends[1] + 1, ends[2]} {
				if s, err := restore(Target{Index: at}); err != nil || s.Point().Index != at {
					t.Errorf("a point that the error names: %v", err)
				}
			}
			other, err := restore(Target{Index: point, Database: "other"})
			if err != nil || other.Point().Index != point {
				t.Fatalf("the other database at a point inside: %v", err)
			}
			want(other, 2, said[2][:kept])
		})
	}
}

// textsOf returns the texts of a database that are not forgotten, in order of creation.
func textsOf(t *testing.T, s *state.State, db oplog.DB) (texts []string) {
	t.Helper()
	if err := s.Read(func(v *state.View) error {
		v.Memories(db, 0, func(m *oplog.Memory) bool {
			if m.Status == oplog.Active {
				texts = append(texts, m.Text)
			}
			return true
		})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}
