package raft

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// TestACrashWhileASnapshotIsClosed ends the machine between the steps in which a state is saved, a snapshot that names
// it is written, and the oldest is removed with its state. The state is gone as well and the log was cut, so a start
// needs a snapshot: it takes one that is whole, moves none aside, leaves nothing of an unfinished one, and has all
// that was acknowledged.
func TestACrashWhileASnapshotIsClosed(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cluster{t: t, addrs: []string{"127.0.0.1:0"}, nodes: make([]*Node, 1), sms: []*listMachine{{}}}
			cfg := Config{NodeID: 1, Dir: t.TempDir(), Addr: "127.0.0.1:0", Credentials: Credentials{Secret: "secret"},
				Keys: keys, Alone: true,
				Timing: Timing{SegmentBytes: 2 << 10, TrailingLogs: 5}, Handler: noHandler{}}
			c.sms[0].dir = savedDir(cfg.Dir)
			n, err := Open(context.Background(), cfg, c.sms[0])
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			c.nodes[0] = n
			var want []string
			for i := range retainedSnapshots { // the oldest goes with the next one
				want = append(want, c.propose(20*i, 20*i+20)...)
				if err := n.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, c.propose(50, 60)...)
			before := c.copyDir(cfg.Dir)
			if err := n.Snapshot(); err != nil {
				t.Fatal(err)
			}
			steps := closingSteps(t, snapshotDir(before), snapshotDir(cfg.Dir))
			for last := range steps {
				crashed := cfg
				crashed.Dir = c.copyDir(before)
				snaps := snapshotDir(crashed.Dir)
				for _, s := range steps[:last+1] {
					if err := s.do(snaps); err != nil {
						t.Fatalf("%s: %v", s.what, err)
					}
				}
				sm := &listMachine{dir: savedDir(crashed.Dir)}
				n, err := Open(context.Background(), crashed, sm)
				if err != nil {
					t.Fatalf("%s: %v", steps[last].what, err)
				}
				cl := &cluster{t: t, nodes: []*Node{n}, sms: []*listMachine{sm}}
				cl.leader()
				if got := sm.items(); !slices.Equal(got, want) {
					t.Errorf("%s: %d of %d records are there", steps[last].what, len(got), len(want))
				}
				if setAside(t, crashed.Dir) {
					t.Errorf("%s: something was taken for damaged", steps[last].what)
				}
				if saved, names := snapshotsIn(t, savedDir(crashed.Dir)), snapshotsIn(t, snaps); len(saved) != len(names) {
					t.Errorf("%s: of %v are saved %v", steps[last].what, names, saved)
				}
				if left, err := filepath.Glob(filepath.Join(snaps, "*"+unfinishedSnapshot)); err != nil || len(left) > 0 {
					t.Errorf("%s: left over are %v, %v", steps[last].what, left, err)
				}
				cl.propose(60, 62)
				if err := n.Close(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%d crashes", len(steps))
		})
	}
}

// copyDir returns a copy of a directory.
func (c *cluster) copyDir(dir string) (copied string) {
	c.t.Helper()
	copied = c.t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		c.t.Fatal(err)
	}
	return copied
}

// A closingStep adds something to the disk after the step before, or takes something away.
type closingStep struct {
	what string
	do   func(snaps string) error
}

// closingSteps returns the steps that lead from one directory of snapshots to another, with one snapshot more and one
// less.
func closingSteps(t *testing.T, from, to string) (steps []closingStep) {
	t.Helper()
	was, made := snapshotsIn(t, from), snapshotsIn(t, to)
	old, next := was[0], made[len(made)-1]
	if slices.Contains(was, next) || slices.Contains(made, old) {
		t.Fatalf("%v became %v", was, made)
	}
	tmp := next + unfinishedSnapshot
	step := func(what string, do func(snaps string) error) { steps = append(steps, closingStep{what, do}) }
	whole, err := os.ReadFile(filepath.Join(to, next))
	if err != nil {
		t.Fatal(err)
	}
	states := func(snaps string) string { return savedDir(filepath.Dir(snaps)) }
	state, err := os.ReadFile(filepath.Join(states(to), idOf(next)))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, len(state) / 2, len(state)} {
		step(fmt.Sprintf("%d of %d bytes of the state", size, len(state)), func(snaps string) error {
			return os.WriteFile(filepath.Join(states(snaps), idOf(next)), state[:size], 0o600)
		})
	}
	for _, size := range []int{0, len(whole) / 2, len(whole) - 1, len(whole)} {
		step(fmt.Sprintf("%d of %d bytes", size, len(whole)), func(snaps string) error {
			return os.WriteFile(filepath.Join(snaps, tmp), whole[:size], 0o600)
		})
	}
	step("renamed", func(snaps string) error { return os.Rename(filepath.Join(snaps, tmp), filepath.Join(snaps, next)) })
	step("the oldest removed", func(snaps string) error { return os.Remove(filepath.Join(snaps, old)) })
	step("its state removed", func(snaps string) error { return os.Remove(filepath.Join(states(snaps), idOf(old))) })
	return steps
}

// snapshotsIn returns the names of the snapshots in a directory, the oldest first.
func snapshotsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
