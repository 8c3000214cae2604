package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// gatewayReport is what `bench gateway` prints: the same questions over both protocols, in turn.
type gatewayReport struct {
	Memories   int        `json:"memories"`
	Questions  int        `json:"questions"`
	Runs       []speedRun `json:"runs"`
	Difference float64    `json:"p50_http_minus_wire_ms"`
	Streams    int        `json:"idle_streams"`
	PerStream  float64    `json:"bytes_per_idle_stream"` // with both ends in this process
}

type gatewayBench struct {
	fill, questions, streams int
	asJSON                   bool
}

var gatewayHelp = help{
	long: `Compare recalls over HTTP with the same over the wire, and weigh idle event streams.

It starts a node on this machine, in a temporary directory that it removes. Each question is asked over the wire, over HTTP
and as an event stream, one after the other, so that whatever else the machine does falls on all of them alike.`,
}

func (b *gatewayBench) flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&b.fill, "fill", 2000, "memories to store first")
	f.IntVar(&b.questions, "questions", 500, "questions to ask each way")
	f.IntVar(&b.streams, "streams", 1000, "idle event streams to open")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
}

func (b *gatewayBench) run(ctx context.Context, a *cli.Streams) (err error) {
	if b.questions < 1 || b.fill < 0 || b.streams < 0 {
		return cli.Usage(errors.New("--questions: at least 1; --fill and --streams: at least 0"))
	}
	local, err := startLocal(ctx, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()
	c, err := local.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	l := &loader{c: c, token: local.token, url: "http://" + local.nodes[0].Addrs().HTTP, http: http.DefaultClient, rng: rand.New(rand.NewPCG(1, 7))}
	if err := (&loadBench{fill: b.fill}).prepare(ctx, a, l); err != nil {
		return err
	}
	r := gatewayReport{Memories: b.fill, Questions: b.questions, Streams: b.streams}
	if err := b.ask(ctx, l, &r); err != nil {
		return err
	}
	if r.PerStream, err = b.idle(ctx, l); err != nil {
		return err
	}
	return show(a, b.asJSON, &r)
}

// ways are the ways of asking, in the order they take turns. Each says what it waited for.
var ways = []struct {
	name string
	ask  func(ctx context.Context, l *loader, k int) (time.Duration, error)
}{
	{"wire", func(ctx context.Context, l *loader, k int) (time.Duration, error) {
		began := time.Now()
		err := l.ask(ctx, k, false)
		return time.Since(began), err
	}},
	{"http", func(ctx context.Context, l *loader, k int) (time.Duration, error) {
		began := time.Now()
		err := l.post(ctx, "/v1/recall", map[string]any{"query": l.question(k)})
		return time.Since(began), err
	}},
	{"http, first row of a stream", func(ctx context.Context, l *loader, k int) (time.Duration, error) { return l.firstRow(ctx, k) }},
}

func (b *gatewayBench) ask(ctx context.Context, l *loader, r *gatewayReport) error {
	took := make([][]float64, len(ways))
	const warm = 20
	for k := range warm + b.questions {
		for i, w := range ways {
			d, err := w.ask(ctx, l, k)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if k >= warm {
				took[i] = append(took[i], float64(d.Microseconds())/1000)
			}
		}
	}
	for i, w := range ways {
		slices.Sort(took[i])
		r.Runs = append(r.Runs, speedRun{Kind: w.name, P50: quantile(took[i], .5), P99: quantile(took[i], .99)})
	}
	r.Difference = r.Runs[1].P50 - r.Runs[0].P50
	return nil
}

// firstRow asks for an event stream and says when its first row was there; the others are read all the same.
func (l *loader) firstRow(ctx context.Context, k int) (time.Duration, error) {
	began := time.Now()
	resp, err := l.send(ctx, "/v1/recall", map[string]any{"query": l.question(k)}, [2]string{"Accept", "text/event-stream"})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "event: ") {
		return 0, fmt.Errorf("no event: %q, %w", line, err)
	}
	first := time.Since(began)
	_, err = io.Copy(io.Discard, in)
	return first, err
}

// idle says what an event stream costs on which nothing happens.
func (b *gatewayBench) idle(ctx context.Context, l *loader) (float64, error) {
	if b.streams == 0 {
		return 0, nil
	}
	before := inUse()
	for range b.streams {
		var d net.Dialer
		nc, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(l.url, "http://"))
		if err != nil {
			return 0, err
		}
		defer nc.Close()
		fmt.Fprintf(nc, "GET /v1/events HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", l.token)
		in := bufio.NewReaderSize(nc, 256)
		for line := ""; !strings.HasPrefix(line, "event: subscribed"); {
			if line, err = in.ReadString('\n'); err != nil {
				return 0, err
			}
		}
	}
	return float64(inUse()-before) / float64(b.streams), nil
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func (r *gatewayReport) print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories, %d questions each way\n\n", r.Memories, r.Questions)
	if err := grid(a.Out, "recall over\tp50 ms\tp99 ms\t", r.Runs, speedRun.line); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\nhttp takes %+.2f ms at the median\n", r.Difference)
	if r.Streams > 0 {
		fmt.Fprintf(a.Out, "%d idle event streams: %.1f MB, both ends of each connection\n", r.Streams, float64(r.Streams)*r.PerStream/1e6)
	}
	return nil
}
