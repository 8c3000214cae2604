package state

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog"
)

// keys prints a page of keys.
func (e *scriptEnv) keys(t *testing.T, d *datadriven.TestData) string {
	namespace, folder, behind, depth := "", "/", "", 0
	d.ScanArgs(t, "namespace", &namespace)
	d.MaybeScanArgs(t, "folder", &folder)
	d.MaybeScanArgs(t, "behind", &behind)
	d.MaybeScanArgs(t, "depth", &depth)
	var b strings.Builder
	must(t, e.s.Read(func(v *View) error {
		v.Keys(1, namespace, folder, behind, depth, func(path string, m *oplog.Memory) bool {
			if b.WriteString(path); m != nil {
				fmt.Fprintf(&b, " %s %q", m.RID, m.Text)
			}
			b.WriteByte('\n')
			return true
		})
		return nil
	}))
	return b.String()
}

// past prints the memory that had a key at a time.
func (e *scriptEnv) past(t *testing.T, d *datadriven.TestData) (said string) {
	namespace, path, at := "", "", 0
	d.ScanArgs(t, "namespace", &namespace)
	d.ScanArgs(t, "path", &path)
	d.ScanArgs(t, "at", &at)
	must(t, e.s.Read(func(v *View) error {
		m, ok := v.KeyedAsOf(1, namespace, path, oplog.Time(at))
		if said = "nobody\n"; ok {
			said = fmt.Sprintf("%s %q %s\n", m.RID, m.Text, m.Path)
		}
		return nil
	}))
	return said
}

// A world is the state that TestKeysAreAMap expects: the memory of each key.
type world map[string]oplog.Memory

func (w world) conflicts(path string) bool {
	for have := range w {
		if have == path || strings.HasPrefix(have, path+"/") || strings.HasPrefix(path, have+"/") {
			return true
		}
	}
	return false
}

// page lists the keys below a folder after a given key. Keys deeper than depth are listed as their folder.
func (w world) page(folder, behind string, depth int) (list []string) {
	for path := range w {
		if !strings.HasPrefix(path, folder) {
			continue
		}
		if parts := strings.SplitAfter(path[len(folder):], "/"); depth > 0 && len(parts) > depth {
			path = folder + strings.Join(parts[:depth], "")
		}
		if path > behind {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestKeysAreAMap draws keyed writes with conditions, and compares each answer, every page of keys, and the memory of
// each key at each time with a map.
func TestKeysAreAMap(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		s, err := Open(filepath.Join(dir, fmt.Sprint(run)), Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		apply := func(at int, db oplog.DB, ops ...oplog.Op) oplog.Outcome {
			out, err := s.Apply([]oplog.Record{record(oplog.Index(at), []oplog.Entry{{Node: 1, DB: db, Ops: ops}})})
			if err != nil {
				t.Fatal(err)
			}
			return out[0]
		}
		apply(1, 0, &oplog.Init{Cluster: "c"})
		path := func(label string) string {
			return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a-", "b"}), 1, 3).Draw(t, label), "/")
		}
		now, times := world{}, []world{{}, {}} // by the index of the record, which is also its time
		entries := rapid.IntRange(1, 30).Draw(t, "entries")
		for at := 2; at < 2+entries; at++ {
			next, ops, refused := maps.Clone(now), []oplog.Op{}, false
			for n := range rapid.IntRange(1, 3).Draw(t, "ops") {
				key := path("key")
				m, has := next[key]
				guard := &oplog.Keyed{Namespace: "n", Path: key, Holder: new(m.RID)}
				switch rapid.IntRange(0, 5).Draw(t, "condition") {
				case 0:
					guard.IfAbsent = true
					refused = refused || has
				case 1:
					guard.IfRevision = new(uint32(rapid.IntRange(0, 2).Draw(t, "revision")))
					refused = refused || !has || m.Revision != *guard.IfRevision
				case 2:
					guard.IfSHA256 = hashOf(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "expected"))
					refused = refused || !has || hashOf(m.Text) != guard.IfSHA256
				}
				ops = append(ops, guard)
				if refused {
					break
				}
				switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
				case what == 0 && has:
					delete(next, key)
					ops = append(ops, &oplog.Forget{RID: m.RID, At: oplog.Time(at)})
				case what == 1 && has:
					to := path("to")
					delete(next, key)
					refused = next.conflicts(to)
					ops = append(ops, &oplog.Correct{RID: m.RID, Place: oplog.Place{Path: &to}, At: oplog.Time(at)})
					if to == key {
						refused = false
					}
					m.Revision++
					m.Path = to
					next[to] = m
				case has:
					m.Text = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text")
					m.Revision++
					next[key] = m
					ops = append(ops, &oplog.Correct{RID: m.RID, Text: new(m.Text), At: oplog.Time(at)})
				case what > 0:
					m = oplog.Memory{Content: oplog.Content{RID: fmt.Sprintf("m%d-%d", at, n), Text: "x", Namespace: "n",
						Path: key, Created: oplog.Time(at)}}
					refused = next.conflicts(key)
					next[key] = m
					ops = append(ops, &oplog.Remember{Content: m.Content})
				}
				if refused {
					break
				}
			}
			if o := apply(at, 1, ops...); (o.Err != nil) != refused {
				t.Fatalf("entry %d: %v, refused is %t", at, o.Err, refused)
			}
			if !refused {
				now = next
			}
			times = append(times, maps.Clone(now))
		}
		if err := s.Read(func(v *View) error {
			for at, then := range times {
				for _, key := range slices.Sorted(maps.Keys(everKeyed(times))) {
					m, ok := v.KeyedAsOf(1, "n", key, oplog.Time(at))
					if want, has := then[key]; ok != has ||
						ok && (m.RID != want.RID || m.Text != want.Text || m.Revision != want.Revision || m.Path != key) {
						t.Fatalf("%s at %d: %+v, want %+v", key, at, m, want)
					}
				}
			}
			folder, behind, depth := path("folder")+"/", path("behind"), rapid.IntRange(0, 2).Draw(t, "depth")
			if rapid.Bool().Draw(t, "root") {
				folder = "/"
			}
			got := []string(nil)
			v.Keys(1, "n", folder, folder+behind[1:], depth, func(path string, m *oplog.Memory) bool {
				if key := m != nil; key != !strings.HasSuffix(path, "/") || key && m.RID != now[path].RID {
					t.Fatalf("%s leads to %+v", path, m)
				}
				got = append(got, path)
				return true
			})
			if want := now.page(folder, folder+behind[1:], depth); !slices.Equal(got, want) {
				t.Fatalf("below %s behind %s, depth %d: %q, want %q", folder, folder+behind[1:], depth, got, want)
			}
			if v.Recount() != v.Sum() {
				t.Fatal("the running sum is not the state's")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// everKeyed returns every key that a memory has had at any time.
func everKeyed(times []world) world {
	all := world{}
	for _, w := range times {
		maps.Copy(all, w)
	}
	return all
}
