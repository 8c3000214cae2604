package text

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

func TestFindableAtOnce(t *testing.T) {
	x := openAt(t, t.TempDir())
	for i := range uint32(2000) {
		word := fmt.Sprintf("needle%d", i)
		apply(t, x, []Row{{Row: i, Group: i % 3, Text: "some " + word + " in hay"}})
		if h := find(t, x, Query{Text: word}); len(h) != 1 || h[0].Row != i {
			t.Fatalf("row %d: got %v right after it was added", i, h)
		}
		if i%2 == 0 {
			apply(t, x, nil, i)
			if h := find(t, x, Query{Text: word}); len(h) != 0 {
				t.Fatalf("row %d: got %v after it was deleted", i, h)
			}
		}
	}
}

// TestModel compares the index with the model after random changes, pauses and restarts.
func TestModel(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	rings := []*seal.Ring{nil, newRing()}
	rapid.Check(t, func(t *rapid.T) {
		dir := ""
		disk := rapid.Bool().Draw(t, "disk")
		var keys *seal.Ring
		if disk {
			dir = tempDir(t)
			keys = rapid.SampledFrom(rings).Draw(t, "keys")
		}
		x, err := Open(Config{Dir: dir, Keys: keys})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		defer func() { x.Close() }()
		m, next := model{}, uint32(0)
		word := rapid.SampledFrom([]string{"alpha", "beta", "gamma", "delta", "running", "the", "parseHTTP", "a/b.go", "漢字",
			"é", "gamme", "alpah", "dleta", "alphabeta", "runing", "betas", "deltalar", "3f9a2bc", "3f9a2bc81d", "3f9a2b",
			"gammer", "betaship", "alphament"})
		text := func() string {
			s := ""
			for _, w := range rapid.SliceOfN(word, 0, 8).Draw(t, "words") {
				s += w + " "
			}
			return s
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				var rows []Row
				for range rapid.IntRange(1, 40).Draw(t, "rows") {
					r := Row{Row: next, Group: rapid.Uint32Range(0, 3).Draw(t, "group"), Text: text()}
					next++
					rows, m[r.Row] = append(rows, r), r
				}
				apply(t, x, rows)
			case 2:
				if next > 0 {
					row := rapid.Uint32Range(0, next-1).Draw(t, "del")
					delete(m, row)
					apply(t, x, nil, row)
				}
			case 3:
				settle(t, x)
			case 4:
				if disk {
					settle(t, x)
					x.Close()
					if keys != nil {
						if err := keys.Rotate(); err != nil {
							t.Fatal(err)
						}
					}
					if x, err = Open(Config{Dir: dir, Keys: keys}); err != nil {
						t.Fatalf("reopen: %v", err)
					}
				}
			}
			q := Query{Text: text(), K: rapid.IntRange(1, 60).Draw(t, "k"),
				Groups: rapid.SliceOfN(rapid.Uint32Range(0, 4), 0, 2).Draw(t, "groups")}
			q.Local = rapid.Bool().Draw(t, "local")
			q.Exact = rapid.Bool().Draw(t, "exact")
			if rapid.Bool().Draw(t, "keep") {
				q.Keep = func(row uint32) bool { return row%2 == 0 }
			}
			sameHits(t, fmt.Sprintf("query %q", q.Text), find(t, x, q), m.search(q))
		}
	})
}

// TestReplicasAgree feeds two indexes the same rows in other batches, restarts one, and
// compares 1,000 queries bit by bit.
func TestReplicasAgree(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one batch after the other, which takes the race detector too long")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var rows []Row
	for i := range uint32(6000) {
		rows = append(rows, Row{Row: i, Group: uint32(r.IntN(5)), Text: words(r, 5+r.IntN(60), 3000)})
	}
	var dead []uint32
	for i := range uint32(6000) {
		if r.IntN(7) == 0 {
			dead = append(dead, i)
		}
	}
	dirs := []string{t.TempDir(), t.TempDir()}
	var xs []*Index
	for i, batch := range []int{7, 1500} {
		x := openAt(t, dirs[i])
		for part := range slices.Chunk(rows, batch) {
			apply(t, x, part)
			if i == 0 && part[0].Row%70 == 0 {
				settle(t, x)
			}
		}
		for part := range slices.Chunk(dead, batch) {
			apply(t, x, nil, part...)
		}
		settle(t, x)
		xs = append(xs, x)
	}
	compare := func(what string) {
		t.Helper()
		r := rand.New(rand.NewPCG(3, 4))
		for i := range 1000 {
			q := Query{Text: words(r, 1+r.IntN(9), 3000), K: 20}
			if i%2 == 0 {
				q.Groups = []uint32{uint32(r.IntN(5))}
			}
			sameHits(t, what+" "+q.Text, find(t, xs[0], q), find(t, xs[1], q))
		}
	}
	compare("live")
	if err := xs[1].Close(); err != nil {
		t.Fatal(err)
	}
	xs[1] = openAt(t, dirs[1])
	if got, want := xs[1].Totals(), xs[0].Totals(); got != want {
		t.Fatalf("totals after restart: got %+v, want %+v", got, want)
	}
	compare("restarted")
}
