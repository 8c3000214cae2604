package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// replayed opens a journal of texts and returns its values.
func replayed(t *testing.T, path string, keys *seal.Ring) (*Journal[string], []string) {
	t.Helper()
	var all []string
	j, err := Replay(path, "test", keys, func(s string) error { all = append(all, s); return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, all
}

// Committed values are replayed when the journal is opened again, also after Replace. A line that a crash cut is not.
func TestReplay(t *testing.T) {
	for _, keys := range []*seal.Ring{nil, seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		path := filepath.Join(t.TempDir(), "lines")
		j, _ := replayed(t, path, keys)
		long := strings.Repeat("<é>", rewriteBuffer)
		if err := j.Commit("one", "two\n", long); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil || int64(len(whole)) != j.Size() {
			t.Fatalf("%d bytes, counted as %d: %v", len(whole), j.Size(), err)
		}
		if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
			t.Fatal(err)
		}
		j, got := replayed(t, path, keys)
		if !slices.Equal(got, []string{"one", "two\n"}) {
			t.Errorf("after a crash: %.40q", got)
		}
		if err := j.Replace("1", long, "2"); err != nil {
			t.Fatal(err)
		}
		if err := j.Commit("3"); err != nil {
			t.Fatal(err)
		}
		if changed, err := j.Changed(); changed || err != nil {
			t.Errorf("changed: %v, %v", changed, err)
		}
		if _, got = replayed(t, path, keys); !slices.Equal(got, []string{"1", long, "2", "3"}) {
			t.Errorf("replaced: %.40q", got)
		}
	}
}

// Cut removes appended lines, Changed notices writes of another process, and after a failure the journal either
// continues or rejects all further writes.
func TestCutAndFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	j, _ := replayed(t, path, nil)
	if err := j.Commit("one"); err != nil {
		t.Fatal(err)
	}
	size := j.Size()
	if err := j.Append([]byte(`"two"`)); err != nil {
		t.Fatal(err)
	}
	if err := j.Cut(size); err != nil {
		t.Fatal(err)
	}
	if err := j.Commit("three"); err != nil {
		t.Fatal(err)
	}
	if _, got := replayed(t, path, nil); fmt.Sprint(got) != "[one three]" {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := j.Changed(); !changed || err != nil {
		t.Errorf("not changed, %v", err)
	}
	j.Close()
	for range 2 {
		if err := j.Commit("four"); err == nil {
			t.Error("a closed file took a line")
		}
	}
	if err := os.Mkdir(path+".new", 0o700); err != nil {
		t.Fatal(err)
	}
	j, _ = replayed(t, path, nil)
	if err := j.Replace("five"); err == nil {
		t.Error("replaced by a directory")
	}
	if err := j.Commit("six"); err != nil {
		t.Error(err)
	}
}
