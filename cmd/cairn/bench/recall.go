package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A CorpusLine is a memory of an evaluation corpus: a turn of a conversation.
type CorpusLine struct {
	Conv    string `json:"conv"`
	ID      string `json:"id"`
	Session any    `json:"session"`
	Turn    int    `json:"turn"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"caption"`

	Embedding []float32 `json:"embedding,omitempty"`
}

// A QueryLine is a question with the ids of the memories that answer it.
type QueryLine struct {
	Conv     string   `json:"conv"`
	QID      any      `json:"qid"`
	Category string   `json:"category"`
	Query    string   `json:"query"`
	Evidence []string `json:"evidence"`

	Embedding []float32 `json:"embedding,omitempty"`
}

type rankedLine struct {
	Conv   string   `json:"conv"`
	QID    any      `json:"qid"`
	Ranked []string `json:"ranked"`
}

// A RecallReport holds the results of all sets.
type RecallReport struct {
	Sets []SetReport `json:"sets"`
}

// A SetReport holds the results of one corpus and its questions.
type SetReport struct {
	Corpus   string       `json:"corpus"`
	Memories int          `json:"memories"`
	Rows     []quality    `json:"rows"`
	P50      float64      `json:"p50_ms"`
	P99      float64      `json:"p99_ms"`
	Against  []difference `json:"against,omitempty"`
}

// Recall is the measurement of `cairn bench recall`.
type Recall struct {
	cli.Target
	Corpus, Queries []string // files
	Embedder        string
	K               int
	Size, Dim, Asks int // of generated memories
	Clients         int
	Against         []string
	Peer            OpenPeer // opens each of Against
	out             string
	rest            time.Duration
}

// RecallVerb describes `cairn bench recall`.
var RecallVerb = Bench{
	Use:   "recall {--corpus FILE --queries FILE | --size N}",
	Short: "Load a corpus, ask every question, and say how well and how fast they were answered",
	Start: func() Measurement { return &Recall{Peer: Rankings} },
	Long: `Stores every line of the corpus once, in file order, as "<speaker>: <text> <caption>" in a namespace of its
conversation, then asks every query in its namespace. --corpus and --queries may be given several times: each pair is a set of its
own, on a node of its own.

With --against FILE, which an earlier run wrote with --out, the report says by how much the two runs differ: the mean of the
differences question by question, and the interval that holds it with 95 %.

With --embedder the node makes vectors; a line of the corpus and a question may also bring one of their own, as "embedding". To see
what vectors do, write the rankings of words alone with --out, and compare with --against FILE.

With --size it makes up so many memories instead, with vectors of --dim dimensions, and measures speed alone.

Without --endpoints it starts a node of its own in a temporary directory.`,
}

// Flags implements Measurement.
func (f *Recall) Flags(c *cobra.Command) {
	f.Target.Flags(c)
	f.DatabaseFlag(c)
	f.CorpusFlags(c)
	c.Flags().StringVar(&f.out, "out", "", "write the rankings here")
	c.Flags().StringSliceVar(&f.Against, "against", nil,
		"compare with the rankings that another run wrote to this file; several with commas")
	c.Flags().IntVar(&f.Clients, "clients", 1, "with --size: how many ask at once")
	c.Flags().DurationVar(&f.rest, "rest", 0, "with --size: wait so long between loading and asking, while what was loaded is merged")
}

// CorpusFlags adds the flags for the memories and the questions.
func (f *Recall) CorpusFlags(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.Corpus, "corpus", nil, "memories, a JSON object a line")
	c.Flags().StringArrayVar(&f.Queries, "queries", nil, "questions about them, a JSON object a line")
	c.Flags().StringVar(&f.Embedder, "embedder", "none", "without --endpoints: none, builtin, static:DIR or bert:DIR")
	c.Flags().IntVarP(&f.K, "k", "k", 20, "how many to ask for")
	c.Flags().IntVar(&f.Size, "size", 0, "measure speed on so many generated memories")
	c.Flags().IntVar(&f.Dim, "dim", 0, "with --size: dimensions of their vectors; 0 for none")
	c.Flags().IntVar(&f.Asks, "asks", 500, "with --size: questions of each kind")
}

// Validate returns a usage error for invalid values of the flags of CorpusFlags.
func (f *Recall) Validate() error {
	switch {
	case f.Size == 0 && len(f.Corpus) == 0:
		return cli.Usage(errors.New("give --corpus and --queries, or --size"))
	case len(f.Corpus) != len(f.Queries):
		return cli.Usage(fmt.Errorf("%d of --corpus and %d of --queries: give one --queries for each --corpus",
			len(f.Corpus), len(f.Queries)))
	case f.Size < 0 || f.Dim < 0 || f.Asks < 5 || f.K < 1:
		return cli.Usage(errors.New("--size and --k are at least 1, --asks at least 5, --dim at least 0"))
	}
	return nil
}

// Run implements Measurement.
func (f *Recall) Run(ctx context.Context, l *Rig) (Report, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	switch {
	case f.Size != 0 && len(f.Against) > 0:
		return nil, cli.Usage(errors.New("--against compares rankings, and --size makes none: give --corpus and --queries"))
	case f.Size != 0:
		return f.Speed(ctx, l)
	case len(f.Endpoints) > 0 && len(f.Corpus) > 1:
		return nil, cli.Usage(errors.New("--endpoints accepts one --corpus: several need a node each"))
	}
	out := io.Discard
	if f.out != "" {
		file, err := os.Create(f.out)
		if err != nil {
			return nil, err
		}
		l.OnClose(file.Close)
		out = file
	}
	var r RecallReport
	for i := range f.Corpus {
		set, err := ReadSet(f.Corpus[i], f.Queries[i])
		if err != nil {
			return nil, err
		}
		report, err := f.Set(ctx, l.Streams, set, json.NewEncoder(out))
		if err != nil {
			return nil, err
		}
		r.Sets = append(r.Sets, report)
	}
	return &r, nil
}

// A Set is a corpus and the questions about it.
type Set struct {
	Corpus    string // path of its file
	Lines     []CorpusLine
	Questions []QueryLine
}

// ReadSet reads a set from its files.
func ReadSet(corpus, queries string) (s Set, err error) {
	s.Corpus = corpus
	if s.Lines, err = JSONLines[CorpusLine](corpus); err != nil {
		return s, err
	}
	if s.Questions, err = JSONLines[QueryLine](queries); err == nil && len(s.Questions) == 0 {
		err = fmt.Errorf("%s: no questions", queries)
	}
	return s, err
}

// Set evaluates a set on a cluster and on the peers, and writes the cluster's rankings to out. It closes everything
// that it starts.
func (f *Recall) Set(ctx context.Context, a *cli.Streams, set Set, out *json.Encoder) (r SetReport, err error) {
	l := &Rig{Streams: a}
	defer func() { err = errors.Join(err, l.Close()) }()
	lines := set.Lines
	peers, err := f.openPeers(ctx, l, lines)
	if err != nil {
		return r, err
	}
	model, err := OpenEmbedder(f.Embedder)
	if err != nil {
		return r, cli.Usage(err)
	}
	sub, err := l.clusterUnderTest(ctx, &f.Target, 1, func(c *node.Config) { c.Embedder = model })
	if err != nil {
		return r, err
	}
	cl, err := l.Dial(ctx, sub.cfg)
	if err != nil {
		return r, err
	}
	ids, err := StoreCorpus(ctx, a, cl, lines)
	if err != nil {
		return r, err
	}
	r = SetReport{Corpus: set.Corpus, Memories: len(ids)}
	return r, f.ask(ctx, a, cl, &r, evaluation{set.Questions, peers, ids, out})
}

// An evaluation is a set's questions, the peers to compare with, the corpus id of each memory by rid, and the output
// for rankings.
type evaluation struct {
	questions []QueryLine
	peers     []peer
	ids       map[string]string
	out       *json.Encoder
}

func (r *RecallReport) Print(a *cli.Streams) error {
	for i := range r.Sets {
		set := &r.Sets[i]
		fmt.Fprintf(a.Out, "%s\n%-28s %5s %8s %8s %8s %8s %8s\n", set.Corpus, "", "n", "R@5", "R@10", "R@20", "MRR", "nDCG@10")
		for _, q := range set.Rows {
			fmt.Fprintf(a.Out, "%-28s %5d %8.4f %8.4f %8.4f %8.4f %8.4f\n", q.Category, q.Questions, q.Recall5, q.Recall10,
				q.Recall20, q.MRR, q.NDCG10)
		}
		fmt.Fprintf(a.Out, "%d memories, p50 %.2f ms, p99 %.2f ms\n", set.Memories, set.P50, set.P99)
		for _, d := range set.Against {
			fmt.Fprintf(a.Out, "%-8s %.4f, %s %.4f: %+.4f (%+.4f to %+.4f)\n", d.Measure, d.Ours, d.Peer, d.Theirs, d.Mean, d.Low, d.High)
		}
	}
	return nil
}

// JSONLines reads a file of JSON values into a slice.
func JSONLines[T any](path string) (all []T, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if all, err = ParseLines[T](b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// ParseLines parses JSON values into a slice.
func ParseLines[T any](b []byte) (all []T, err error) {
	for v, err := range cli.Values[T](bytes.NewReader(b)) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// Memory returns the memory to store for the line.
func (l *CorpusLine) Memory() wire.Remember {
	text := l.Text
	if l.Speaker != "" {
		text = l.Speaker + ": " + text
	}
	if l.Caption != "" {
		text += " " + l.Caption
	}
	m := wire.NewRemember(text)
	m.Namespace, m.Speaker, m.MemoryType, m.Embedding = l.Conv, l.Speaker, "episodic", l.Embedding
	if l.Session != nil {
		m.SessionID = l.Conv + "/" + fmt.Sprint(l.Session)
	}
	if t, err := time.Parse(time.RFC3339, l.Time); err == nil {
		m.CreatedAt = float64(t.Unix())
	}
	m.Metadata = wire.JSON(`{"id":` + strconv.Quote(l.ID) + `,"turn":` + strconv.Itoa(l.Turn) + `}`)
	return m
}

// StoreCorpus stores the corpus and returns the line's id for each rid.
func StoreCorpus(ctx context.Context, a *cli.Streams, cl *client.Client, lines []CorpusLine) (map[string]string, error) {
	ids, stored := map[string]string{}, 0
	_, err := Store(ctx, a, cl, len(lines), func(i int) wire.Remember { return lines[i].Memory() }, func(rids []string) {
		for _, rid := range rids {
			ids[rid] = lines[stored].ID
			stored++
		}
	})
	return ids, err
}

// ask sends all questions to the cluster and the peers, and adds the results to r.
func (f *Recall) ask(ctx context.Context, a *cli.Streams, cl *client.Client, r *SetReport, e evaluation) error {
	bar := a.Progress("asking")
	byCategory, all := map[string]*quality{}, &quality{Category: "all"}
	var took []float64
	beside := make([]qualityPairs, len(e.peers))
	for _, l := range e.questions {
		q := wire.NewRecall(l.Query)
		q.TopK, q.Namespace, q.SkipReinforce, q.QueryEmbedding = f.K, &l.Conv, true, l.Embedding
		start := time.Now()
		results, _, err := cl.Recall(ctx, q)
		if err != nil {
			return err
		}
		took = append(took, InMilliseconds(time.Since(start)))
		ranked := api.Each(results, func(m wire.RecallResult) string { return e.ids[m.RID] })
		if len(l.Evidence) > 0 {
			if byCategory[l.Category] == nil {
				byCategory[l.Category] = &quality{Category: l.Category}
			}
			ours := rate(ranked, l.Evidence)
			byCategory[l.Category].add(ours)
			all.add(ours)
			for i, p := range e.peers {
				theirs, err := p.ask(l, f.K)
				if err != nil {
					return err
				}
				beside[i].add(ours, rate(theirs, l.Evidence))
			}
		}
		if err := errors.Join(bar.Add(1), e.out.Encode(rankedLine{l.Conv, l.QID, ranked})); err != nil {
			return err
		}
	}
	slices.Sort(took)
	r.P50, r.P99 = quantile(took, .5), quantile(took, .99)
	for _, category := range slices.Sorted(maps.Keys(byCategory)) {
		r.Rows = append(r.Rows, byCategory[category].mean())
	}
	r.Rows = append(r.Rows, all.mean())
	for i, p := range e.peers {
		r.Against = append(r.Against, beside[i].differences(p.name)...)
	}
	return nil
}
