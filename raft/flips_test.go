package raft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/recovery"
)

// TestFlipsOfAStoppedNode flips bits of each kind of file of a killed node that is alone and whose state is older
// than its snapshot. At its start it either has every acknowledged record, healed if it moved a file aside, or it
// names the one lost record and does not start.
func TestFlipsOfAStoppedNode(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		made := crashNodeWith(t, keys, func(n *Node) {
			if err := n.Snapshot(); err != nil {
				t.Fatal(err)
			}
		})
		for kind, pattern := range map[string]string{"segments": "log/*.seg", "meta": "log/meta",
			"snapshots": "snapshots/*.snap", "saved states": "saved/*"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				rng, ends := rand.New(rand.NewPCG(5, 9)), rafttest.Ends{}
				for range rafttest.Flips(25) {
					c := made.copy(t)
					files, err := filepath.Glob(filepath.Join(c.cfg.Dir, pattern))
					if err != nil || len(files) == 0 {
						t.Fatal(files, err)
					}
					path := files[rng.IntN(len(files))]
					bit := rafttest.FlipOne(t, path, rng)
					got, err := c.start(t)
					var lost *recovery.LossError
					switch {
					case err == nil && !slices.Equal(got, c.want):
						t.Fatalf("bit %d of %s: %d of %d records are there", bit, filepath.Base(path), len(got), len(c.want))
					case err == nil && setAside(t, c.cfg.Dir):
						ends.Add(kind, rafttest.Healed)
					case err == nil:
						ends.Add(kind, rafttest.Dead)
					case errors.As(err, &lost) && len(lost.Lost) == 1 && lost.Lost[0].First == lost.Lost[0].Last && !lost.Open:
						ends.Add(kind, "cost a record that was named")
					default:
						t.Fatalf("bit %d of %s: %v", bit, filepath.Base(path), err)
					}
				}
				ends.Report(t)
			})
		}
	}
}

// TestFlipsOfSnapshotsInUse: a bit of the snapshot of a running node changes, before it is opened to be restored or
// sent to another member, or while it is read. The snapshot is moved aside and another is requested, or the state
// rejects what is read of it, or the content is unchanged.
func TestFlipsOfSnapshotsInUse(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 10))
	want := map[string][]byte{}
	for i := range 64 { // 64 KiB that do not get smaller
		v := make([]byte, 1<<10)
		for k := range v {
			v[k] = byte(rng.Uint32())
		}
		want[fmt.Sprintf("%02d", i)] = v
	}
	var body bytes.Buffer
	err := snapshot.Write(&body, int64(len(want)<<10), func(row func(k, v []byte) error) (err error) {
		for _, k := range slices.Sorted(maps.Keys(want)) {
			err = errors.Join(err, row([]byte(k), want[k]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		snaps, path := newSnapshotDirWith(t, keys, body.Bytes())
		list, err := snaps.List()
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		description := *list[0]
		restore := func(in io.Reader) error {
			rows := map[string][]byte{}
			err := snapshot.Read(in, nil, func(k, v []byte) error { rows[string(k)] = bytes.Clone(v); return nil })
			if err == nil && !maps.EqualFunc(rows, want, bytes.Equal) {
				t.Errorf("%d rows are served, and not those that were written", len(rows))
			}
			return err
		}
		for _, kind := range []string{"snapshots", "snapshots that are being read"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				ends := rafttest.Ends{}
				for range rafttest.Flips(25) {
					whole, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					open := func() (io.ReadCloser, error) {
						list, err := snaps.List()
						if err != nil {
							t.Fatal(err)
						}
						if len(list) == 0 {
							return nil, errors.New("moved aside")
						}
						if !reflect.DeepEqual(*list[0], description) {
							t.Errorf("it is described as %+v", list[0])
						}
						_, in, err := snaps.Open(list[0].ID)
						return in, err
					}
					var in io.ReadCloser
					if kind == "snapshots that are being read" {
						if in, err = open(); err != nil {
							t.Fatal(err)
						}
					}
					bit := rafttest.FlipOne(t, path, rng)
					if in == nil {
						in, err = open()
					}
					if err == nil {
						err = errors.Join(restore(in), in.Close())
					}
					if again, aerr := open(); err != nil && aerr == nil { // the next reader must fail as well
						t.Errorf("bit %d of %s: %v, and it is opened again: %v", bit, path, err, again.Close())
					} else if aerr == nil {
						again.Close()
					}
					aside, gerr := filepath.Glob(filepath.Join(snaps.aside, "snapshot-*.corrupt-*"))
					switch {
					case gerr != nil || len(aside) > 1 || err != nil && len(aside) == 0:
						t.Fatal(err, aside, gerr)
					case len(aside) == 0:
						ends.Add(kind, rafttest.Dead)
					default:
						ends.Add(kind, rafttest.Caught)
						<-snaps.replace
						if err := os.Rename(aside[0], path); err != nil {
							t.Fatal(err)
						}
					}
					if err := os.WriteFile(path, whole, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				ends.Report(t)
			})
		}
	}
}

// setAside reports whether a node has moved a file aside.
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
