package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A LoadRun holds the results of one load. A request's latency counts from the time it was due, not from the time a
// client was free to send it, so a stalled server is charged for all requests that had to wait.
type LoadRun struct {
	Workload string  `json:"workload"`
	Clients  int     `json:"clients"`
	Target   float64 `json:"target_per_second,omitempty"` // 0: closed loop, each client sends its next request after the answer
	Requests int     `json:"requests"`
	Failed   int     `json:"failed"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"per_second"`
	P50      float64 `json:"p50_ms"`
	P90      float64 `json:"p90_ms"`
	P99      float64 `json:"p99_ms"`
	P999     float64 `json:"p999_ms"`
	Max      float64 `json:"max_ms"`
}

// A LoadReport holds the runs on one cluster.
type LoadReport struct {
	Target string    `json:"target"`
	Dim    int       `json:"dim,omitempty"`
	Runs   []LoadRun `json:"runs"`
}

// workload is a kind of load. do executes its k-th request.
type workload struct {
	name, what string
	do         func(context.Context, *Loader, int) error
}

var workloads = []workload{
	{"write", "one memory", func(ctx context.Context, l *Loader, k int) error { return l.Write(ctx, k) }},
	{"batch", "a hundred memories in one request", func(ctx context.Context, l *Loader, k int) error {
		var b wire.RememberBatch
		for i := range 100 {
			b.Memories = append(b.Memories, l.Memory(100*k+i))
		}
		_, err := l.Client.RememberBatch(ctx, b)
		return err
	}},
	{"recall", "one question, by words", func(ctx context.Context, l *Loader, k int) error { return l.Recall(ctx, k, false) }},
	{"hybrid", "one question, by words and a vector (--dim)",
		func(ctx context.Context, l *Loader, k int) error { return l.Recall(ctx, k, true) }},
	{"filtered", "one question inside a namespace", func(ctx context.Context, l *Loader, k int) error {
		q := wire.NewRecall(l.Question(k))
		ns := "bench"
		q.Namespace = &ns
		_, _, err := l.Client.Recall(ctx, q)
		return err
	}},
	{"mixed", "an agent's turn: two questions, one memory", func(ctx context.Context, l *Loader, k int) error {
		return errors.Join(l.Recall(ctx, 2*k, false), l.Recall(ctx, 2*k+1, false), l.Write(ctx, k))
	}},
	{"http-recall", "one question over HTTP", func(ctx context.Context, l *Loader, k int) error {
		return l.Post(ctx, "/v1/recall", map[string]any{"query": l.Question(k), "top_k": 10})
	}},
	{"http-write", "one memory over HTTP", func(ctx context.Context, l *Loader, k int) error {
		return l.Post(ctx, "/v1/remember", map[string]any{"text": l.Memory(k).Text, "namespace": "bench"})
	}},
}

type loadBench struct {
	cli.Target
	workloads  []string
	clients    int
	rates      []float64
	nodes, dim int
	fill       int
	out, svg   string
	Durations
}

var loadVerb = Bench{
	Use: "load", Short: "Measure any load, closed (clients wait for answers) or open (a rate is kept)",
	Start: func() Measurement { return new(loadBench) },
	Long: "Measure any load, closed (clients wait for answers) or open (with --rate: requests are due at a fixed rate,\nand are late when no client is free to send them).\n\nWorkloads:\n" + List(workloads,
		func(w workload) (string, string) { return w.name, w.what }),
	Example: "  cairn bench load --workload write,recall --nodes 3 --clients 64\n  cairn bench load --workload mixed --rate 200,400,800 --svg curve.svg\n" +
		"  cairn bench load --workload hybrid --dim 384 --fill 100000 -o after.json && cairn bench compare before.json after.json",
}

func (b *loadBench) Flags(c *cobra.Command) {
	b.Target.Flags(c)
	b.DatabaseFlag(c)
	f := c.Flags()
	f.StringSliceVar(&b.workloads, "workload", []string{"write", "recall", "mixed"}, "what to measure, one after the other")
	f.IntVar(&b.clients, "clients", 16, "how many clients")
	f.Float64SliceVar(&b.rates, "rate", nil,
		"requests a second to keep, one after the other; without it every client asks as fast as it is answered")
	f.IntVar(&b.nodes, "nodes", 1, "without --endpoints: how many nodes to start, 1 or 3")
	f.IntVar(&b.dim, "dim", 0, "dimensions of the vectors that memories and questions carry; 0 for none")
	f.IntVar(&b.fill, "fill", 2000, "memories to store before anything is measured")
	f.DurationVar(&b.WarmUp, "warm-up", 2*time.Second, "how long to go before counting")
	f.DurationVar(&b.Measure, "for", 10*time.Second, "how long to measure each")
	f.StringVarP(&b.out, "output", "o", "", "write the figures to this file, as JSON")
	f.StringVar(&b.svg, "svg", "", "draw latency over load into this file")
}

func (b *loadBench) Run(ctx context.Context, l *Rig) (Report, error) {
	asked := make([]workload, len(b.workloads))
	for i, name := range b.workloads {
		at := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
		if at < 0 {
			return nil, cli.Usagef("--workload %q is not known: --help lists the workloads", name)
		}
		asked[i] = workloads[at]
	}
	sub, err := l.clusterUnderTest(ctx, &b.Target, b.nodes)
	if err != nil {
		return nil, err
	}
	url, err := sub.gateway(ctx, &b.Target)
	if err != nil {
		return nil, err
	}
	loaders, err := l.Loaders(ctx, sub.cfg, max(1, b.clients), b.dim)
	if err != nil {
		return nil, err
	}
	for _, w := range loaders {
		w.URL = url
	}
	if err := loaders[0].Fill(ctx, l, b.fill); err != nil {
		return nil, err
	}
	rates := b.rates
	if len(rates) == 0 {
		rates = []float64{0}
	}
	r := &LoadReport{Target: sub.description, Dim: b.dim}
	for _, w := range asked {
		for _, rate := range rates {
			pace := "as fast as answers come"
			if rate > 0 {
				pace = fmt.Sprintf("%.0f/s", rate)
			}
			fmt.Fprintf(l.Err, "%s, %d clients, %s\n", w.name, len(loaders), pace)
			n := Load(ctx, b.Durations, loaders, rate, w.do)
			n.Workload = w.name
			r.Runs = append(r.Runs, n)
		}
	}
	return r, b.writeFiles(r)
}

// writeFiles writes the files of -o and --svg.
func (b *loadBench) writeFiles(r *LoadReport) error {
	if b.out != "" {
		raw, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.out, append(raw, '\n'), 0o644); err != nil {
			return err
		}
	}
	if b.svg == "" {
		return nil
	}
	return os.WriteFile(b.svg, loadCurve(r.Runs), 0o644)
}

// Durations of a load: first WarmUp, which is not counted, then Measure.
type Durations struct{ WarmUp, Measure time.Duration }

// Load runs do from all clients concurrently until the time is up or ctx ends. With a rate, request i is due at start
// + i/rate, and its latency counts from then. Without a rate, every client sends at least one request, even if the
// scheduler starts it late.
func Load(ctx context.Context, s Durations, loaders []*Loader, rate float64, do func(context.Context, *Loader, int) error) LoadRun {
	var next atomic.Int64
	start := time.Now()
	counted := start.Add(s.WarmUp)
	end := counted.Add(s.Measure)
	took := make([][]float64, len(loaders))
	failed := make([]int, len(loaders))
	var wg sync.WaitGroup
	for i, l := range loaders {
		wg.Go(func() {
			for asked := false; !asked || ctx.Err() == nil; asked = true {
				k := next.Add(1) - 1
				due := time.Now()
				if rate > 0 {
					due = start.Add(time.Duration(float64(k) / rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
				if due.After(end) && (asked || rate > 0) {
					return
				}
				err := do(ctx, l, int(k))
				if due.Before(counted) {
					continue
				}
				if err != nil {
					failed[i]++
					continue
				}
				took[i] = append(took[i], InMilliseconds(time.Since(due)))
			}
		})
	}
	wg.Wait()
	// Requests that were due in time may be answered after the end: divide by the time that the run really took.
	seconds := max(s.Measure, time.Since(counted)).Seconds()
	all := slices.Concat(took...)
	slices.Sort(all)
	r := LoadRun{Clients: len(loaders), Target: rate, Requests: len(all), Seconds: seconds, Rate: float64(len(all)) / seconds}
	for _, n := range failed {
		r.Failed += n
	}
	if len(all) > 0 {
		at := func(q float64) float64 { return quantile(all, q) }
		r.P50, r.P90, r.P99, r.P999, r.Max = at(0.5), at(0.9), at(0.99), at(0.999), at(1)
	}
	return r
}

func (r *LoadReport) Print(a *cli.Streams) error {
	return Grid(a.Out, "workload\tclients\ttarget\tper second\tp50 ms\tp90 ms\tp99 ms\tp99.9 ms\tmax ms\tfailed\t", r.Runs,
		func(n LoadRun) string {
			return fmt.Sprintf("%s\t%d\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%d\t", n.Workload, n.Clients, formatTarget(n.Target), n.Rate,
				n.P50, n.P90, n.P99, n.P999, n.Max, n.Failed)
		})
}

// formatTarget formats a target rate for a table; "-" for none.
func formatTarget(rate float64) string {
	if rate > 0 {
		return fmt.Sprintf("%.0f", rate)
	}
	return "-"
}

// A Loader is one client that generates load.
type Loader struct {
	Client     *client.Client
	ID         int
	Token, URL string // of the gateway; HTTP requests need them
	HTTP       *http.Client
	dim        int
	rng        *rand.Rand
}

var words = strings.Fields("payment ledger invoice deploy rollback cluster replica index vector session agent memory recall token budget latency " +
	"failover snapshot backup gateway console browser socket stream queue worker release branch review incident oncall alert metric dashboard " +
	"customer refund contract renewal pricing discount shipment warehouse supplier forecast audit policy region tenant quota shard")

// Memory returns the k-th memory of this client.
func (l *Loader) Memory(k int) wire.Remember {
	text := make([]string, 40)
	for i := range text {
		text[i] = words[l.rng.IntN(len(words))]
	}
	m := wire.NewRemember(fmt.Sprintf("note %d of writer %d: %s", k, l.ID, strings.Join(text, " ")))
	m.Namespace, m.Embedding = "bench", l.vector()
	return m
}

func (l *Loader) vector() []float32 { return Gauss(l.rng, l.dim) }

// Gauss returns a vector of normally distributed numbers; nil for 0 dimensions.
func Gauss(rng *rand.Rand, dim int) (v []float32) {
	for range dim {
		v = append(v, float32(rng.NormFloat64()))
	}
	return v
}

// Fill stores n memories, for later questions.
func (l *Loader) Fill(ctx context.Context, in *Rig, n int) error {
	if n > 0 {
		fmt.Fprintf(in.Err, "storing %d memories\n", n)
	}
	_, err := Store(ctx, in.Streams, l.Client, n, l.Memory, func([]string) {})
	return err
}

// Write stores the k-th memory.
func (l *Loader) Write(ctx context.Context, k int) error {
	_, err := l.Client.Remember(ctx, l.Memory(k))
	return err
}

// Question returns the k-th question: two words that occur in memories.
func (l *Loader) Question(k int) string {
	return words[k%len(words)] + " " + words[(k*7+3)%len(words)]
}

// Recall asks the k-th question, by words and, with vector, also by a random vector.
func (l *Loader) Recall(ctx context.Context, k int, vector bool) error {
	q := wire.NewRecall(l.Question(k))
	if vector {
		q.QueryEmbedding = l.vector()
	}
	_, _, err := l.Client.Recall(ctx, q)
	return err
}

// Send posts JSON with additional headers. The caller closes the body.
func (l *Loader) Send(ctx context.Context, path string, body any, headers ...[2]string) (*http.Response, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL+path, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if l.Token != "" {
		req.Header.Set("Authorization", "Bearer "+l.Token)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		req.Header.Set(h[0], h[1])
	}
	return l.HTTP.Do(req)
}

// Post posts JSON and returns an error for any status but 200.
func (l *Loader) Post(ctx context.Context, path string, body any) error {
	resp, err := l.Send(ctx, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
