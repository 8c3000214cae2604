package raft

import (
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/raft/logstore"
)

// misreadOnce is a file system in which one read returns a wrong bit.
type misreadOnce struct {
	logstore.OS
	name string
	left *atomic.Int32
}

type erringFile struct {
	logstore.File
	left *atomic.Int32
}

func (f misreadOnce) Open(name string) (logstore.File, error) {
	file, err := f.OS.Open(name)
	if err == nil && strings.HasSuffix(name, f.name) {
		file = erringFile{file, f.left}
	}
	return file, err
}

func (f erringFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	if n > 0 && f.left.Add(-1) == 0 {
		b[n/2] ^= 1
	}
	return n, err
}

// TestALogIsReadTwice: a bit that is read wrong once, but is correct on disk, costs a member neither its log nor its
// vote.
func TestALogIsReadTwice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"meta", ".seg"} {
		c := startStableLeader(t, 3)
		want := c.propose(0, 10)
		i := int(c.leader().cfg.NodeID % 3)
		c.wait("all records", func() bool { return slices.Equal(c.sms[i].items(), want) })
		c.nodes[i].Close()
		left := new(atomic.Int32)
		left.Store(1)
		c.files = map[int]logstore.FS{i: misreadOnce{name: name, left: left}}
		c.reopen(i, "secret", c.peers(i))
		if left.Load() > 0 {
			t.Fatalf("%s: nothing was read wrong", name)
		}
		if aside, err := filepath.Glob(filepath.Join(c.dirs[i], "*.corrupt-*")); err != nil || len(aside) > 0 || !c.nodes[i].HasState() {
			t.Errorf("%s: moved aside: %q, %v; it has its vote: %v", name, aside, err, c.nodes[i].HasState())
		}
		want = append(want, c.propose(10, 20)...)
		c.wait("all records", func() bool { return slices.Equal(c.sms[i].items(), want) })
	}
}
