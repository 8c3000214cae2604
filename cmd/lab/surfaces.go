package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/wire"
)

// A dialect is a typical request of a protocol. dial connects a client and returns the function that sends a request.
type dialect struct {
	name, what string
	dial       dialer
}

type dialer func(ctx context.Context, l *bench.Rig, n *trial.DevNode, who int) (ask func(k int) error, err error)

var dialects = []dialect{
	{"wire", "remember, over a connection that is kept", dialWire},
	{"http", "POST /v1/remember, over a connection that is kept", dialHTTP},
	{"sift", "capture, a connection a request, as hooks do", dialSift},
	{"covenant", "submit_intent, over a connection that is kept", dialCovenant},
	{"string", "/exec of /remember, a topic a client", dialString(func(k, who int) string { return "/remember " + note(k, who) })},
	{"string-info", "/exec of /info, a topic a client", dialString(func(int, int) string { return "/info" })},
	{"process", "server.ping, over a connection that is kept", dialProcess},
}

type surfacesBench struct {
	names   []string
	clients int
	trial.Cairn
	bench.Durations
}

var surfacesVerb = bench.Bench{
	Use: "surfaces", Short: "Measure every protocol of one node", Start: func() bench.Measurement { return new(surfacesBench) },
	Long: "Start a node in a temporary directory and measure each protocol it speaks, one after the other.\n\n" + bench.List(dialects,
		func(d dialect) (string, string) { return d.name, d.what }),
	Example: "  go run ./cmd/lab surfaces --clients 32\n  go run ./cmd/lab surfaces --dialect wire,sift",
}

func (b *surfacesBench) Flags(c *cobra.Command) {
	b.Flag(c)
	f := c.Flags()
	var all []string
	for _, d := range dialects {
		all = append(all, d.name)
	}
	f.StringSliceVar(&b.names, "dialect", all, "what to measure, one after the other")
	f.IntVar(&b.clients, "clients", 32, "how many clients")
	f.DurationVar(&b.WarmUp, "warm-up", time.Second, "how long to go before counting")
	f.DurationVar(&b.Measure, "for", 5*time.Second, "how long to measure each")
}

func (b *surfacesBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	if b.clients < 1 {
		return nil, cli.Usagef("--clients %d: want at least 1", b.clients)
	}
	n, err := b.Dev(ctx, l)
	if err != nil {
		return nil, err
	}
	r := &bench.LoadReport{Target: "one node started here"}
	for _, name := range b.names {
		i := slices.IndexFunc(dialects, func(d dialect) bool { return d.name == name })
		if i < 0 {
			return nil, cli.Usagef("--dialect %q is not known: --help lists the dialects", name)
		}
		fmt.Fprintf(l.Err, "%s, %d clients\n", name, b.clients)
		run, err := b.measure(ctx, n, dialects[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.Runs = append(r.Runs, run)
	}
	return r, nil
}

func (b *surfacesBench) measure(ctx context.Context, n *trial.DevNode, d dialect) (r bench.LoadRun, err error) {
	var l bench.Rig // closes the clients before those of the next protocol connect
	defer l.Close()
	loaders := make([]*bench.Loader, b.clients)
	asks := make([]func(int) error, b.clients)
	for i := range loaders {
		if asks[i], err = d.dial(ctx, &l, n, i); err != nil {
			return r, err
		}
		loaders[i] = &bench.Loader{ID: i}
	}
	r = bench.Load(ctx, b.Durations, loaders, 0, func(_ context.Context, l *bench.Loader, k int) error { return asks[l.ID](k) })
	r.Workload = d.name
	return r, nil
}

func note(k, who int) string { return fmt.Sprintf("note %d of client %d about deploys", k, who) }

func dialWire(ctx context.Context, l *bench.Rig, n *trial.DevNode, who int) (func(int) error, error) {
	c, err := l.Dial(ctx, n.Client())
	return func(k int) error {
		_, err := c.Remember(ctx, wire.NewRemember(note(k, who)))
		return err
	}, err
}

// keptLoader returns an HTTP loader with its own connections, which the rig closes.
func keptLoader(l *bench.Rig, url, token string) *bench.Loader {
	own := &http.Client{Transport: &http.Transport{}}
	l.OnClose(func() error { own.CloseIdleConnections(); return nil })
	return &bench.Loader{URL: url, Token: token, HTTP: own}
}

func dialHTTP(ctx context.Context, l *bench.Rig, n *trial.DevNode, who int) (func(int) error, error) {
	c := keptLoader(l, n.Line.HTTP, n.Token)
	return func(k int) error { return c.Post(ctx, "/v1/remember", map[string]any{"text": note(k, who)}) }, nil
}

func dialSift(ctx context.Context, _ *bench.Rig, n *trial.DevNode, who int) (func(int) error, error) {
	return func(k int) error {
		_, err := sift.Call(ctx, n.Line.Sift,
			map[string]any{"kind": "capture", "sessionId": strconv.Itoa(who), "tool": "Bash", "payload": map[string]any{
				"tool_input": map[string]any{"command": "make"}, "tool_response": fmt.Sprintf("step %d went well, %x", k, rand.Uint64())}})
		return err
	}, nil
}

func dialCovenant(ctx context.Context, l *bench.Rig, n *trial.DevNode, who int) (func(int) error, error) {
	c, err := covenant.Dial(ctx, filepath.Join(n.Home, "run", "covenant"))
	if err != nil {
		return nil, err
	}
	l.OnClose(func() error { c.Close(); return nil })
	return func(k int) error {
		return c.Call(map[string]any{"kind": "submit_intent", "text": note(k, who)}, func(json.RawMessage) error { return nil })
	}, nil
}

func dialString(command func(k, who int) string) dialer {
	return func(ctx context.Context, l *bench.Rig, n *trial.DevNode, who int) (func(int) error, error) {
		c := keptLoader(l, n.Line.String, "")
		post := func(path string, body any) error {
			resp, err := c.Send(ctx, path, body, [2]string{"X-Agent-Id", "bench"})
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err == nil && (resp.StatusCode >= 300 && resp.StatusCode != http.StatusConflict ||
				bytes.Contains(got, []byte(`"ok":false`))) {
				err = fmt.Errorf("status %d: %.200s", resp.StatusCode, got)
			}
			return err
		}
		return func(k int) error {
			return post("/exec", map[string]any{"cmd": command(k, who), "topic": "t" + strconv.Itoa(who)})
		}, post("/agents", map[string]any{"agent_id": "bench"})
	}
}

func dialProcess(ctx context.Context, l *bench.Rig, n *trial.DevNode, _ int) (func(int) error, error) {
	token, err := os.ReadFile(filepath.Join(n.Home, "process.token"))
	if err != nil {
		return nil, err
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", n.Line.Process)
	if err != nil {
		return nil, err
	}
	l.OnClose(c.Close)
	lines := bufio.NewReader(c)
	return func(k int) error {
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": k, "method": "server.ping", "params": map[string]any{},
			"auth": strings.TrimSpace(string(token))})
		if err != nil {
			return err
		}
		if _, err := c.Write(append(b, '\n')); err != nil {
			return err
		}
		line, err := lines.ReadString('\n')
		if err == nil && !strings.Contains(line, "pong") {
			err = fmt.Errorf("answer %.200s", line)
		}
		return err
	}, nil
}
