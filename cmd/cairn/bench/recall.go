package bench

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// corpusBatch is how many memories of a corpus share an entry.
const corpusBatch = 200

// corpusLine is a memory of an evaluation corpus: a turn of a conversation.
type corpusLine struct {
	Conv    string `json:"conv"`
	ID      string `json:"id"`
	Session any    `json:"session"`
	Turn    int    `json:"turn"`
	Time    string `json:"time"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"caption"`
}

// queryLine is a question with the memories that answer it.
type queryLine struct {
	Conv     string   `json:"conv"`
	QID      any      `json:"qid"`
	Category string   `json:"category"`
	Query    string   `json:"query"`
	Evidence []string `json:"evidence"`
}

type rankedLine struct {
	Conv   string   `json:"conv"`
	QID    any      `json:"qid"`
	Ranked []string `json:"ranked"`
}

// quality is what an evaluation found, of all questions or of one category.
type quality struct {
	Category  string  `json:"category"`
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
	MRR       float64 `json:"mrr"`
	NDCG10    float64 `json:"ndcg@10"`
}

type recallReport struct {
	Memories int       `json:"memories"`
	Rows     []quality `json:"rows"`
	P50      float64   `json:"p50_ms"`
	P99      float64   `json:"p99_ms"`
}

type recallBench struct {
	cli.Target
	corpus, queries, out string
	embedder             string
	k                    int
	size, dim, asks      int
	clients              int
	restart, alike       bool
}

var recallHelp = help{
	long: `Stores every line of the corpus once, in file order, as "<speaker>: <text> <caption>" in a namespace of its
conversation, then asks every query in its namespace.

With --size it makes up so many memories instead, with vectors of --dim dimensions, and measures speed alone.

With --alike it says whether three nodes answer every query with the same memories and the same bits of every score: one that was
there all the time, one that caught up, one whose index was thrown away.

Without --addr it starts a node of its own in a temporary directory.`,
}

func (f *recallBench) flags(c *cobra.Command) {
	f.Target.Flags(c)
	f.InDatabase(c)
	c.Flags().StringVar(&f.corpus, "corpus", "", "memories, a JSON object a line")
	c.Flags().StringVar(&f.queries, "queries", "", "questions, a JSON object a line")
	c.Flags().StringVar(&f.out, "out", "", "write the rankings here")
	c.Flags().IntVarP(&f.k, "k", "k", 20, "how many to ask for")
	c.Flags().StringVar(&f.embedder, "embedder", "none", "without --addr: none or builtin")
	c.Flags().IntVar(&f.size, "size", 0, "measure speed on so many generated memories")
	c.Flags().IntVar(&f.dim, "dim", 0, "with --size: dimensions of their vectors; 0 for none")
	c.Flags().IntVar(&f.asks, "asks", 500, "with --size: questions of each kind")
	c.Flags().IntVar(&f.clients, "clients", 1, "with --size: how many ask at once")
	c.Flags().BoolVar(&f.restart, "restart", false, "with --size: also end the node, start it again and measure its first answer")
	c.Flags().BoolVar(&f.alike, "alike", false, "compare the answers of three nodes, to the last bit, one of them late and one rebuilt")
}

func (f *recallBench) run(ctx context.Context, a *cli.Streams) error {
	switch {
	case f.size == 0 && (f.corpus == "" || f.queries == ""):
		return cli.Usage(errors.New("bench recall needs --corpus and --queries, or --size"))
	case f.alike && f.k >= 1 && f.asks >= 1 && f.dim >= 0:
		return alike(ctx, a, f)
	case f.size != 0:
		return speed(ctx, a, f)
	}
	cfg := client.Config{Addrs: f.Addrs, Database: f.Database}
	if len(f.Addrs) == 0 {
		e, err := embed.Open(embed.Config{Kind: f.embedder})
		if err != nil {
			return cli.Usage(err)
		}
		own, err := startLocal(ctx, 1, func(c *node.Config) { c.Embedder = e })
		if err != nil {
			return err
		}
		defer own.close()
		cfg.Addrs, cfg.Token = own.addrs, own.token
	} else {
		token, err := f.Token()
		if err != nil {
			return err
		}
		cfg.Token = token
	}
	cl, err := client.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer cl.Close()
	ids, err := loadCorpus(ctx, a, cl, f.corpus)
	if err != nil {
		return err
	}
	report, err := askAll(ctx, a, cl, f, ids)
	if err != nil {
		return err
	}
	return show(a, f.JSON, &report)
}

func (r *recallReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%-28s %5s %8s %8s %8s %8s %8s\n", "", "n", "R@5", "R@10", "R@20", "MRR", "nDCG@10")
	for _, q := range r.Rows {
		fmt.Fprintf(a.Out, "%-28s %5d %8.4f %8.4f %8.4f %8.4f %8.4f\n", q.Category, q.Questions, q.Recall5, q.Recall10, q.Recall20, q.MRR, q.NDCG10)
	}
	fmt.Fprintf(a.Out, "%d memories, p50 %.2f ms, p99 %.2f ms\n", r.Memories, r.P50, r.P99)
	return nil
}

// jsonLines hands every line of a file to f.
func jsonLines[T any](path string, f func(T) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for d := json.NewDecoder(bufio.NewReader(file)); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := f(v); err != nil {
			return err
		}
	}
}

func (l *corpusLine) memory() wire.Remember {
	text := l.Speaker + ": " + l.Text
	if l.Caption != "" {
		text += " " + l.Caption
	}
	m := wire.NewRemember(text)
	m.Namespace, m.Speaker, m.MemoryType = l.Conv, l.Speaker, "episodic"
	if l.Session != nil {
		m.SessionID = l.Conv + "/" + fmt.Sprint(l.Session)
	}
	if t, err := time.Parse(time.RFC3339, l.Time); err == nil {
		m.CreatedAt = float64(t.Unix())
	}
	m.Metadata = wire.JSON(`{"id":` + strconv.Quote(l.ID) + `,"turn":` + strconv.Itoa(l.Turn) + `}`)
	return m
}

// loadCorpus stores the corpus and returns which line each memory came from.
func loadCorpus(ctx context.Context, a *cli.Streams, cl *client.Client, path string) (map[string]string, error) {
	ids := map[string]string{}
	var batch wire.RememberBatch
	var lines []string
	bar := a.Progress("loading")
	flush := func() error {
		rids, err := cl.RememberBatch(ctx, batch)
		if err != nil {
			return err
		}
		for i, rid := range rids {
			ids[rid] = lines[i]
		}
		batch, lines = wire.RememberBatch{}, lines[:0]
		return bar.Add(len(rids))
	}
	err := jsonLines(path, func(l corpusLine) error {
		batch.Memories = append(batch.Memories, l.memory())
		if lines = append(lines, l.ID); len(lines) == corpusBatch {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	return ids, err
}

func askAll(ctx context.Context, a *cli.Streams, cl *client.Client, f *recallBench, ids map[string]string) (r recallReport, err error) {
	out := io.Discard
	if f.out != "" {
		file, err := os.Create(f.out)
		if err != nil {
			return r, err
		}
		defer file.Close()
		out = file
	}
	enc := json.NewEncoder(out)
	bar := a.Progress("asking")
	byCategory := map[string]*quality{}
	all := &quality{Category: "all"}
	var took []float64
	err = jsonLines(f.queries, func(l queryLine) error {
		q := wire.NewRecall(l.Query)
		q.TopK, q.Namespace, q.SkipReinforce = f.k, &l.Conv, true
		start := time.Now()
		results, _, err := cl.Recall(ctx, q)
		if err != nil {
			return err
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
		ranked := make([]string, len(results))
		for i, m := range results {
			ranked[i] = ids[m.RID]
		}
		if len(l.Evidence) > 0 {
			c := byCategory[l.Category]
			if c == nil {
				c = &quality{Category: l.Category}
				byCategory[l.Category] = c
			}
			c.count(ranked, l.Evidence)
			all.count(ranked, l.Evidence)
		}
		if err := bar.Add(1); err != nil {
			return err
		}
		return enc.Encode(rankedLine{l.Conv, l.QID, ranked})
	})
	if err != nil {
		return r, err
	}
	if len(took) == 0 {
		return r, fmt.Errorf("%s: no questions", f.queries)
	}
	slices.Sort(took)
	r = recallReport{Memories: len(ids), P50: quantile(took, .5), P99: quantile(took, .99)}
	for _, c := range byCategory {
		r.Rows = append(r.Rows, c.mean())
	}
	slices.SortFunc(r.Rows, func(x, y quality) int { return cmp.Compare(x.Category, y.Category) })
	r.Rows = append(r.Rows, all.mean())
	return r, nil
}

// count adds a question. Fields hold sums until mean.
func (q *quality) count(ranked, evidence []string) {
	q.Questions++
	want := map[string]bool{}
	for _, e := range evidence {
		want[e] = true
	}
	n := float64(len(want))
	var hits, dcg, ideal float64
	first := 0
	for i, id := range ranked {
		if want[id] {
			delete(want, id) // counts once
			hits++
			if first == 0 {
				first = i + 1
			}
			if i < 10 {
				dcg += 1 / math.Log2(float64(i)+2)
			}
		}
		switch i {
		case 4:
			q.Recall5 += hits / n
		case 9:
			q.Recall10 += hits / n
		case 19:
			q.Recall20 += hits / n
		}
	}
	for _, at := range []struct {
		k   int
		sum *float64
	}{{5, &q.Recall5}, {10, &q.Recall10}, {20, &q.Recall20}} {
		if len(ranked) < at.k { // a short list ends where it ends
			*at.sum += hits / n
		}
	}
	for i := range min(int(n), 10) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	q.NDCG10 += dcg / ideal
	if first > 0 {
		q.MRR += 1 / float64(first)
	}
}

func (q *quality) mean() quality {
	n := float64(q.Questions)
	return quality{q.Category, q.Questions, q.Recall5 / n, q.Recall10 / n, q.Recall20 / n, q.MRR / n, q.NDCG10 / n}
}
