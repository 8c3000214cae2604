package raft

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/recovery"
)

// TestFlipsOfAStoppedNode flips bits of each kind of file of a lone node that was killed, with its state behind its snapshot. When it starts it has
// all that was acknowledged, healed where it moved something aside; or it names the one record that is lost, and does not start.
func TestFlipsOfAStoppedNode(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		made := crashWith(t, keys, func(n *Node) {
			if err := n.Snapshot(); err != nil {
				t.Fatal(err)
			}
		})
		for kind, pattern := range map[string]string{"segments": "log/*.seg", "meta": "log/meta", "votes": "log/votes.db", "snapshots": "snapshots/*.snap"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(5, 9))
				flips, healed, named, dead := rafttest.Flips(25), 0, 0, 0
				for i := range flips {
					c := made.copy(t)
					files, err := filepath.Glob(filepath.Join(c.cfg.Dir, pattern))
					if err != nil || len(files) == 0 {
						t.Fatal(files, err)
					}
					path := files[rng.IntN(len(files))]
					flip := rafttest.FlipOne
					if kind == "votes" && i%2 == 0 { // that file is mostly empty
						flip = rafttest.FlipLive
					}
					bit := flip(t, path, rng)
					got, err := c.start(t)
					var lost *recovery.LossError
					switch {
					case err == nil && !slices.Equal(got, c.want):
						t.Fatalf("bit %d of %s: %d of %d records are there", bit, filepath.Base(path), len(got), len(c.want))
					case err == nil && setAside(t, c.cfg.Dir):
						healed++
					case err == nil:
						dead++
					case errors.As(err, &lost) && len(lost.Lost) == 1 && lost.Lost[0].First == lost.Lost[0].Last && !lost.Open:
						named++
					default:
						t.Fatalf("bit %d of %s: %v", bit, filepath.Base(path), err)
					}
				}
				t.Logf("%s %s: of %d bits %d were healed, %d cost a record that was named, and %d lay in bytes that nothing reads", name, kind, flips, healed, named, dead)
				if healed+named == 0 {
					t.Error("no flip was caught")
				}
			})
		}
	}
}

// setAside says whether a node has moved something aside.
func setAside(t *testing.T, dir string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		found = found || strings.Contains(filepath.Base(path), ".corrupt-")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
