package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestDamagedFilesAreHealed damages each file of a member in turn. The member must start, name the files that it
// moved aside, heal from the others, and have the same state as they do.
func TestDamagedFilesAreHealed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	nodes, token := startThree(t, 0, 1, 2)
	c := connect(t, nodes, token)
	acked := map[string]string{}
	write := func(n int) {
		for i := range n {
			putAndRecord(t, c, wire.NewRemember(fmt.Sprintf("memory %d of %d, about lighthouses", len(acked), i)), acked)
		}
	}
	write(300) // an index of fewer memories has no files
	rng := rand.New(rand.NewPCG(1, 1))
	damage := map[string]func(path string, b []byte) []byte{
		"scribbled": func(_ string, b []byte) []byte {
			for i := range min(len(b), 64<<10) {
				b[i] = byte(rng.Uint32())
			}
			return b
		},
		"torn": func(_ string, b []byte) []byte { return b[:min(len(b)/3, 12<<10)] }, // with the part that the last checkpoint needs
	}
	for _, file := range []string{"state", "raft/log", "index"} {
		for how, f := range damage {
			t.Run(file+" "+how, func(t *testing.T) {
				i := (leaderOf(t, nodes) + 1) % 3
				home := nodes[i].Line.Home
				nodes[i].Kill()
				hit := 0
				err := filepath.WalkDir(filepath.Join(home, file), func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					b, err := os.ReadFile(path)
					if err != nil || len(b) == 0 {
						return err
					}
					hit++
					return os.WriteFile(path, f(path, b), 0o600)
				})
				if err != nil || hit == 0 {
					t.Fatalf("%d files were damaged: %v", hit, err)
				}
				nodes[i].Launch()()
				write(5)
				sameState(t, nodes)
				checkExport(t, nodes[i], token, acked)
				// a list of tables may be cut at a valid end: the state is then older, and the log brings the rest
				if file != "index" && file+how != "statetorn" {
					aside, err := filepath.Glob(filepath.Join(home, file+".corrupt-*"))
					if err != nil || len(aside) == 0 || !nodes[i].WaitForLog("moved aside") {
						t.Errorf("moved aside: %v, %v", aside, err)
					}
				}
				q := wire.NewRecall("lighthouses")
				q.TopK = len(acked)
				if found := recallNow(t, connect(t, nodes[i:i+1], token), q); len(found) != len(acked) {
					t.Errorf("it finds %d of %d memories", len(found), len(acked))
				}
			})
		}
	}
}
