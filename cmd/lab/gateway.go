package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// gatewayReport is the output of `lab gateway`: the latencies of the same questions over both protocols.
type gatewayReport struct {
	Memories   int              `json:"memories"`
	Questions  int              `json:"questions"`
	Runs       []bench.SpeedRun `json:"runs"`
	Difference float64          `json:"p50_http_minus_wire_ms"`
	Streams    int              `json:"idle_streams"`
	PerStream  float64          `json:"bytes_per_idle_stream"` // of both ends, which are in this process
}

type gatewayBench struct{ memories, questions, streams int }

var gatewayVerb = bench.Bench{
	Use: "gateway", Short: "Compare recalls over HTTP with the same over the wire, and weigh idle event streams",
	Start: func() bench.Measurement { return new(gatewayBench) },
	Long: `Compare recalls over HTTP with the same over the wire, and weigh idle event streams.

It starts a node on this machine, in a temporary directory that it removes. Each question is asked over the wire, over HTTP
and as an event stream, one after the other, so that whatever else the machine does falls on all of them alike.`,
}

func (b *gatewayBench) Flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&b.memories, "fill", 2000, "memories to store first")
	f.IntVar(&b.questions, "questions", 500, "questions to ask each way")
	f.IntVar(&b.streams, "streams", 1000, "idle event streams to open")
}

func (b *gatewayBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if b.questions < 1 || b.memories < 0 || b.streams < 0 {
		return nil, cli.Usage(errors.New("--questions: at least 1; --fill and --streams: at least 0"))
	}
	own, err := l.Cluster(ctx, 1)
	if err != nil {
		return nil, err
	}
	loaders, err := l.Loaders(ctx, own.Client, 1, 0)
	if err != nil {
		return nil, err
	}
	c := loaders[0]
	c.URL = own.Gateway()
	if err := c.Fill(ctx, l, b.memories); err != nil {
		return nil, err
	}
	r := &gatewayReport{Memories: b.memories, Questions: b.questions, Streams: b.streams}
	if err := b.ask(ctx, c, r); err != nil {
		return nil, err
	}
	r.PerStream, err = b.idle(ctx, l, c)
	return r, err
}

// transports lists the ways to ask a question. Each returns its latency.
var transports = []struct {
	name string
	ask  func(ctx context.Context, l *bench.Loader, k int) (time.Duration, error)
}{
	{"wire", func(ctx context.Context, l *bench.Loader, k int) (time.Duration, error) {
		began := time.Now()
		err := l.Recall(ctx, k, false)
		return time.Since(began), err
	}},
	{"http", func(ctx context.Context, l *bench.Loader, k int) (time.Duration, error) {
		began := time.Now()
		err := l.Post(ctx, "/v1/recall", map[string]any{"query": l.Question(k)})
		return time.Since(began), err
	}},
	{"http, first row of a stream",
		func(ctx context.Context, l *bench.Loader, k int) (time.Duration, error) { return firstRow(ctx, l, k) }},
}

func (b *gatewayBench) ask(ctx context.Context, l *bench.Loader, r *gatewayReport) error {
	took := make([][]float64, len(transports))
	const warm = 20
	for k := range warm + b.questions {
		for i, w := range transports {
			d, err := w.ask(ctx, l, k)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if k >= warm {
				took[i] = append(took[i], bench.InMilliseconds(d))
			}
		}
	}
	for i, w := range transports {
		r.Runs = append(r.Runs, bench.NewSpeedRun(w.name, nil, took[i]))
	}
	r.Difference = r.Runs[1].P50 - r.Runs[0].P50
	return nil
}

// firstRow requests an event stream and returns the time to the first row. It also reads the other rows.
func firstRow(ctx context.Context, l *bench.Loader, k int) (time.Duration, error) {
	began := time.Now()
	resp, err := l.Send(ctx, "/v1/recall", map[string]any{"query": l.Question(k)}, [2]string{"Accept", "text/event-stream"})
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

// idle returns the memory that an idle event stream takes, in bytes.
func (b *gatewayBench) idle(ctx context.Context, l *bench.Rig, to *bench.Loader) (float64, error) {
	if b.streams == 0 {
		return 0, nil
	}
	before := memoryInUse()
	for range b.streams {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(to.URL, "http://"))
		if err != nil {
			return 0, err
		}
		l.OnClose(nc.Close)
		fmt.Fprintf(nc, "GET /v1/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", nc.RemoteAddr(), to.Token)
		in := bufio.NewReaderSize(nc, 256)
		for line := ""; !strings.HasPrefix(line, "event: subscribed"); {
			if line, err = in.ReadString('\n'); err != nil {
				return 0, err
			}
		}
	}
	return float64(memoryInUse()-before) / float64(b.streams), nil
}

func memoryInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func (r *gatewayReport) Print(a *cli.Streams) error {
	fmt.Fprintf(a.Out, "%d memories, %d questions each way\n\n", r.Memories, r.Questions)
	if err := bench.Grid(a.Out, "recall over\tp50 ms\tp99 ms\t", r.Runs, bench.SpeedRun.Line); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "\nhttp takes %+.2f ms at the median\n", r.Difference)
	if r.Streams > 0 {
		fmt.Fprintf(a.Out, "%d idle event streams: %.1f MB, both ends of each connection\n", r.Streams, float64(r.Streams)*r.PerStream/1e6)
	}
	return nil
}
