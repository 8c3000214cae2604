package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// alikeReport counts, for each node, the questions with the same list of results.
type alikeReport struct {
	Memories  int         `json:"memories"`
	Questions int         `json:"questions"`
	Checks    []nodeCheck `json:"checks"`
}

type nodeCheck struct {
	Node  string `json:"node"`
	Alike int    `json:"alike"`
	First string `json:"first_difference,omitempty"`
}

// scoredHit contains the parts of a hit that must be equal on all nodes.
type scoredHit struct {
	rid   string
	score float64
}

// alikeBench uses the corpus and the questions of the recall bench.
type alikeBench struct{ bench.Recall }

var alikeVerb = bench.Bench{
	Use: "alike {--corpus FILE --queries FILE | --size N}", Short: "Say whether three nodes answer alike, to the last bit",
	Start: func() bench.Measurement { return new(alikeBench) },
	Long: `Start three nodes in this process and say whether they answer every query with the same memories and the same bits of every score:
one that was there all the time, one that caught up, one whose index was thrown away.

With --embedder the nodes make vectors; "random" ones know nothing.`,
	Example: "  go run ./cmd/lab alike --size 10000 --embedder random",
}

func (f *alikeBench) Flags(c *cobra.Command) { f.CorpusFlags(c) }

// Run loads a corpus or generated memories into two nodes of three, and lets the third catch up. It asks every node
// all questions, and asks one node again after its index was rebuilt.
func (f *alikeBench) Run(ctx context.Context, l *bench.Rig) (_ bench.Report, err error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	var model embed.Embedder = randomEmbedder{}
	if f.Embedder != "random" {
		if model, err = bench.OpenEmbedder(f.Embedder); err != nil {
			return nil, cli.Usage(err)
		}
	}
	own, err := l.Cluster(ctx, 3, func(c *node.Config) { c.Embedder = model })
	if err != nil {
		return nil, err
	}
	late := 2
	if err := own.Nodes[late].Close(); err != nil {
		return nil, err
	}
	n, questions, err := f.load(ctx, l, own)
	if err != nil {
		return nil, err
	}
	last, err := api.Search.Do(ctx, own.Nodes[0].Service(), caller(),
		&api.SearchRequest{Text: "anything", K: 1, Fresh: api.Fresh{Consistency: "linearizable"}})
	if err != nil {
		return nil, err
	}
	r := &alikeReport{Memories: n, Questions: len(questions)}
	if err := own.Reopen(ctx, late); err != nil {
		return nil, err
	}
	now := time.Now()
	want, err := answers(ctx, own.Nodes[0], questions, last.Index, now)
	if err != nil {
		return nil, err
	}
	check := func(name string, i int) error {
		got, err := answers(ctx, own.Nodes[i], questions, last.Index, now)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Checks = append(r.Checks, compareAnswers(name, questions, got, want))
		return nil
	}
	if err := errors.Join(check("node 2, there all the time", 1), check("node 3, caught up", late), own.Nodes[1].Close()); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(own.Configs[1].Home, "index")); err != nil {
		return nil, err
	}
	if err := own.Reopen(ctx, 1); err != nil {
		return nil, err
	}
	return r, check("node 2, rebuilt", 1)
}

// load stores the memories and returns the questions, with the filters and vectors they are asked with.
func (f *alikeBench) load(ctx context.Context, l *bench.Rig, own *bench.LocalCluster) (n int, questions []api.SearchRequest, err error) {
	up := own.Client
	up.Addrs = up.Addrs[:2]
	cl, err := l.Dial(ctx, up)
	if err != nil {
		return 0, nil, err
	}
	if f.Size > 0 {
		g := bench.NewGenerator(f.Dim)
		if _, err := bench.Store(ctx, l.Streams, cl, f.Size, g.Memory, func([]string) {}); err != nil {
			return 0, nil, err
		}
		for i := range f.Asks {
			q := api.SearchRequest{K: f.K, Text: g.Question(), Vector: g.Vector(), Expand: i%2 == 0}
			if i%3 == 0 {
				q.Namespace = fmt.Sprint("speed", i%10)
			}
			questions = append(questions, q)
		}
		return f.Size, questions, nil
	}
	for i := range f.Corpus {
		memories, err := bench.JSONLines[bench.CorpusLine](f.Corpus[i])
		if err != nil {
			return 0, nil, err
		}
		ids, err := bench.StoreCorpus(ctx, l.Streams, cl, memories)
		if err != nil {
			return 0, nil, err
		}
		n += len(ids)
		asked, err := bench.JSONLines[bench.QueryLine](f.Queries[i])
		if err != nil {
			return 0, nil, err
		}
		for _, q := range asked {
			questions = append(questions, api.SearchRequest{Text: q.Query, Namespace: q.Conv, K: f.K})
		}
	}
	return n, questions, nil
}

// answers waits until a node has reached an index, and asks it all questions as of one time.
func answers(ctx context.Context, nd *node.Node, questions []api.SearchRequest, at oplog.Index, now time.Time) ([][]scoredHit, error) {
	s, caller, fresh := nd.Service(), caller(), api.Fresh{MinIndex: field.Token(at)}
	for end := time.Now().Add(time.Minute); ; { // catching up may take longer than one question waits
		_, err := api.Search.Do(ctx, s, caller, &api.SearchRequest{Text: "anything", K: 1, Fresh: fresh})
		if err == nil {
			break
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return nil, err
		}
	}
	all := make([][]scoredHit, len(questions))
	for i, q := range questions {
		q.Now, q.Fresh = now, fresh
		found, err := api.Search.Do(ctx, s, caller, &q)
		if err != nil {
			return nil, err
		}
		for _, h := range found.Hits {
			all[i] = append(all[i], scoredHit{h.Memory.RID, h.Score})
		}
	}
	return all, nil
}

// caller returns a caller that reinforces no memories and is not in the audit or the slow log.
func caller() api.Caller {
	return api.Caller{DB: oplog.DefaultDB, Scopes: []api.Scope{api.Read}, Quiet: true}
}

func compareAnswers(name string, questions []api.SearchRequest, got, want [][]scoredHit) nodeCheck {
	c := nodeCheck{Node: name}
	for i := range want {
		if slices.Equal(got[i], want[i]) {
			c.Alike++
		} else if c.First == "" {
			c.First = fmt.Sprintf("question %d in %q", i, questions[i].Namespace)
		}
	}
	return c
}

// Pass reports whether all lists were equal.
func (r *alikeReport) Pass() bool {
	return !slices.ContainsFunc(r.Checks, func(c nodeCheck) bool { return c.Alike != r.Questions })
}

func (r *alikeReport) Print(a *cli.Streams) error {
	for _, c := range r.Checks {
		first := ""
		if c.First != "" {
			first = "; first difference: " + c.First
		}
		fmt.Fprintf(a.Out, "%-28s %d of %d lists the same, ids and scores to the last bit%s\n", c.Node, c.Alike, r.Questions, first)
	}
	return nil
}

// A randomEmbedder derives a random vector from a text's hash. It is fast enough that every memory has its vector
// when it is acknowledged, even on a busy machine.
type randomEmbedder struct{}

const randomDim = 384

func (randomEmbedder) Identity() embed.Identity {
	return embed.Identity{Name: "random", Version: "1", Dim: randomDim}
}

func (randomEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		h := fnv.New64a()
		h.Write([]byte(t))
		out[i] = bench.Gauss(rand.New(rand.NewPCG(h.Sum64(), 5)), randomDim)
	}
	return out, ctx.Err()
}
