package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestFlippedBitsAreHealed flips bits in each kind of file of a stopped member, where the file does not look
// truncated. The member must name the damage, heal, and answer queries by words and by vector, and exports, like the
// others.
func TestFlippedBitsAreHealed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	nodes, token := configureThree(t, t.TempDir(), func(*config.NodeFile) {})
	for _, p := range nodes {
		change(t, p.Args[3], func(b []byte) []byte {
			return bytes.Replace(b, []byte("[cluster]\n"),
				[]byte("[cluster]\nsnapshot_threshold = 16\nsnapshot_interval_ms = 100\ntrailing_logs = 8\n"), 1)
		})
	}
	startAll(t, nodes, 0, 1, 2)
	c := connect(t, nodes, token)
	rng := rand.New(rand.NewPCG(1, 2))
	acked := map[string]string{}
	write := func(n int) {
		t.Helper()
		for range n {
			m := wire.NewRemember(fmt.Sprintf("lighthouse number %04d has a keeper", len(acked)))
			m.Embedding = vectorOf(rng)
			putAndRecord(t, c, m, acked)
		}
	}
	write(300) // an index of fewer memories has no files
	anyBit := func(b []byte) []byte { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return b }
	for _, tc := range []struct {
		files string
		flip  func([]byte) []byte
		says  []string
		aside []string
	}{
		{"index/*/rows-*", anyBit, []string{"checkpoint of the index unreadable", "rows-"}, nil},
		{"index/checkpoint", anyBit, []string{"checkpoint of the index unreadable"}, nil},
		{"index/*/text/*.zap", anyBit, []string{"index unreadable, rebuilt"}, nil},
		{"raft/snapshots/*.snap", func(b []byte) []byte { return flipBehind(b, "127.0.0.") },
			[]string{"snapshot unreadable, moved aside", "raft log unreadable, moved aside"},
			[]string{"raft/snapshot-*.corrupt-*", "raft/log.corrupt-*"}},
		{"state/*/*.sst", func(b []byte) []byte { // one bit in each block of rows
			for at := min(600, len(b)/4); at < len(b)*3/4; at += 1000 {
				b[at] ^= 1
			}
			return b
		}, []string{"moved aside"}, []string{"state.corrupt-*"}},
	} {
		i := (leaderOf(t, nodes) + 1) % 3
		p, other := nodes[i], nodes[(i+1)%3]
		suite.Eventually(t, "two snapshots", func() bool { // the second snapshot follows the truncation of the log behind the first
			write(1)
			l, err := filepath.Glob(filepath.Join(p.Line.Home, "raft/snapshots/*.snap"))
			return err == nil && len(l) > 1
		})
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		found, err := filepath.Glob(filepath.Join(p.Line.Home, tc.files))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", tc.files, found, err)
		}
		for _, path := range found {
			change(t, path, tc.flip)
		}
		up := p.Launch()
		up()
		write(5)
		sameState(t, nodes)
		checkExport(t, p, token, acked)
		checkSameRecalls(t, p, other, token, rng, len(acked))
		for _, s := range tc.says {
			if !p.WaitForLog(s) {
				t.Errorf("%s: it does not say %q:\n%s", tc.files, s, cairntest.Tail(p.Log.String(), 3000))
			}
		}
		for _, kept := range tc.aside {
			if l, err := filepath.Glob(filepath.Join(p.Line.Home, kept)); err != nil || len(l) == 0 {
				t.Errorf("%s: nothing is kept as %s (%v)", tc.files, kept, err)
			}
		}
		if !suite.Within(suite.Patience, func() bool {
			s, ok := statusOf(t, nodes[leaderOf(t, nodes)])
			return ok && cli.Voters(&s, false) == 3 && s.Healthy
		}) {
			t.Errorf("%s: it does not vote again", tc.files)
		}
	}
}

func vectorOf(rng *rand.Rand) (v []float32) {
	for range 16 {
		v = append(v, float32(rng.NormFloat64()))
	}
	return v
}

// change modifies a file.
func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flipBehind flips a bit of the byte after a text, wherever the text is.
func flipBehind(b []byte, text string) []byte {
	for at := bytes.Index(b, []byte(text)); at >= 0; {
		at += len(text)
		b[at] ^= 1
		next := bytes.Index(b[at:], []byte(text))
		if next < 0 {
			break
		}
		at += next
	}
	return b
}

// checkSameRecalls checks that two nodes return the same memories by words, and the same nearest ones by vector.
func checkSameRecalls(t *testing.T, p, other *cairntest.Node, token string, rng *rand.Rand, n int) {
	t.Helper()
	all, near := wire.NewRecall("lighthouse"), wire.NewRecall("")
	all.TopK, near.QueryEmbedding = n, vectorOf(rng)
	var answers [2][][]string
	for i, node := range []*cairntest.Node{p, other} {
		c := connect(t, []*cairntest.Node{node}, token)
		for _, q := range []wire.Recall{all, near} {
			q.SkipReinforce = true
			var rids []string
			for _, r := range recallNow(t, c, q) {
				rids = append(rids, r.RID)
			}
			answers[i] = append(answers[i], rids)
		}
		slices.Sort(answers[i][0]) // all scores are equal
	}
	if len(answers[0][0]) != n || len(answers[0][1]) != near.TopK {
		t.Errorf("it finds %d of %d memories by words, and %d by a vector", len(answers[0][0]), n, len(answers[0][1]))
	}
	for k := range answers[0] {
		if !slices.Equal(answers[0][k], answers[1][k]) {
			t.Errorf("one node finds\n%v\nanother\n%v", answers[0][k], answers[1][k])
		}
	}
}
