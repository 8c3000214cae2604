package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// A dialect is one request of one protocol, as the clients that speak it ask it. Dial makes what one client asks with.
type dialect struct {
	name, what string
	dial       func(ctx context.Context, n *devNode, who int) (ask func(k int) error, done func() error, err error)
}

var dialects = []dialect{
	{"wire", "remember, over a connection that is kept", dialWire},
	{"http", "POST /v1/remember, over a connection that is kept", dialHTTP},
	{"sift", "capture, a connection a request, as hooks do", dialSift},
	{"covenant", "submit_intent, over a connection that is kept", dialCovenant},
	{"string", "/exec of /remember, a topic a client", dialString(func(k, who int) string { return fmt.Sprintf("/remember note %d of client %d about deploys", k, who) })},
	{"string-info", "/exec of /info, a topic a client", dialString(func(int, int) string { return "/info" })},
	{"process", "server.ping, over a connection that is kept", dialProcess},
}

type surfacesBench struct {
	names      []string
	clients    int
	warm, long time.Duration
	asJSON     bool
}

var surfacesHelp = help{
	long:    "Start a node in a temporary directory and measure each protocol it speaks, one after the other.\n\n" + list(dialects, func(d dialect) (string, string) { return d.name, d.what }),
	example: "  cairn bench surfaces --clients 32\n  cairn bench surfaces --dialect wire,sift",
}

func (b *surfacesBench) flags(c *cobra.Command) {
	f := c.Flags()
	var all []string
	for _, d := range dialects {
		all = append(all, d.name)
	}
	f.StringSliceVar(&b.names, "dialect", all, "what to measure, one after the other")
	f.IntVar(&b.clients, "clients", 32, "how many clients")
	f.DurationVar(&b.warm, "warm-up", time.Second, "how long to go before counting")
	f.DurationVar(&b.long, "for", 5*time.Second, "how long to measure each")
	f.BoolVar(&b.asJSON, "json", false, "print JSON")
}

func (b *surfacesBench) run(ctx context.Context, a *cli.Streams) (err error) {
	if b.clients < 1 {
		return cli.Usagef("--clients %d: want at least 1", b.clients)
	}
	n, err := startDevNode(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	report := loadReport{Target: "one node started here"}
	for _, name := range b.names {
		i := slices.IndexFunc(dialects, func(d dialect) bool { return d.name == name })
		if i < 0 {
			return cli.Usagef("--dialect %q is not known: --help lists the dialects", name)
		}
		fmt.Fprintf(a.Err, "%s, %d clients\n", name, b.clients)
		r, err := b.measure(ctx, n, dialects[i])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		report.Runs = append(report.Runs, r)
	}
	return (&loadBench{Target: cli.Target{JSON: b.asJSON}}).finish(a, report)
}

func (b *surfacesBench) measure(ctx context.Context, n *devNode, d dialect) (_ loadRun, err error) {
	loaders := make([]*loader, b.clients)
	asks := make([]func(int) error, b.clients)
	for i := range loaders {
		ask, done, err := d.dial(ctx, n, i)
		if err != nil {
			return loadRun{}, err
		}
		defer done()
		loaders[i], asks[i] = &loader{who: i}, ask
	}
	w := workload{name: d.name, do: func(_ context.Context, l *loader, k int) error { return asks[l.who](k) }}
	return (&loadBench{warm: b.warm, long: b.long}).measure(ctx, w, loaders, 0), nil
}

func dialWire(ctx context.Context, n *devNode, who int) (func(int) error, func() error, error) {
	c, err := client.Dial(ctx, client.Config{Addrs: []string{n.line.Wire}, Token: n.token})
	if err != nil {
		return nil, nil, err
	}
	return func(k int) error {
		_, err := c.Remember(ctx, wire.NewRemember(fmt.Sprintf("note %d of client %d about deploys", k, who)))
		return err
	}, c.Close, nil
}

func dialHTTP(ctx context.Context, n *devNode, who int) (func(int) error, func() error, error) {
	own := &http.Client{Transport: &http.Transport{}}
	l := &loader{url: n.line.HTTP, token: n.token, http: own}
	return func(k int) error {
		return l.post(ctx, "/v1/remember", map[string]any{"text": fmt.Sprintf("note %d of client %d about deploys", k, who)})
	}, func() error { own.CloseIdleConnections(); return nil }, nil
}

func dialSift(ctx context.Context, n *devNode, who int) (func(int) error, func() error, error) {
	return func(k int) error {
		_, err := sift.Call(ctx, n.line.Sift, map[string]any{"kind": "capture", "sessionId": strconv.Itoa(who), "tool": "Bash", "payload": map[string]any{
			"tool_input": map[string]any{"command": "make"}, "tool_response": fmt.Sprintf("step %d went well, %x", k, rand.Uint64())}})
		return err
	}, func() error { return nil }, nil
}

func dialCovenant(ctx context.Context, n *devNode, who int) (func(int) error, func() error, error) {
	c, err := covenant.Dial(ctx, filepath.Join(n.home, "run", "covenant"))
	if err != nil {
		return nil, nil, err
	}
	return func(k int) error {
		return c.Call(map[string]any{"kind": "submit_intent", "text": fmt.Sprintf("note %d of client %d about deploys", k, who)},
			func(json.RawMessage) error { return nil })
	}, func() error { c.Close(); return nil }, nil
}

func dialString(command func(k, who int) string) func(context.Context, *devNode, int) (func(int) error, func() error, error) {
	return func(ctx context.Context, n *devNode, who int) (func(int) error, func() error, error) {
		own := &http.Client{Transport: &http.Transport{}}
		l := &loader{url: n.line.String, http: own}
		post := func(path string, body any) error {
			resp, err := l.send(ctx, path, body, [2]string{"X-Agent-Id", "bench"})
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err == nil && (resp.StatusCode >= 300 && resp.StatusCode != http.StatusConflict || bytes.Contains(got, []byte(`"ok":false`))) {
				err = fmt.Errorf("status %d: %.200s", resp.StatusCode, got)
			}
			return err
		}
		if err := post("/agents", map[string]any{"agent_id": "bench"}); err != nil {
			return nil, nil, err
		}
		topic := "t" + strconv.Itoa(who)
		return func(k int) error {
			return post("/exec", map[string]any{"cmd": command(k, who), "topic": topic})
		}, func() error { own.CloseIdleConnections(); return nil }, nil
	}
}

func dialProcess(ctx context.Context, n *devNode, who int) (func(int) error, func() error, error) {
	token, err := os.ReadFile(filepath.Join(n.home, "process.token"))
	if err != nil {
		return nil, nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", n.line.Process)
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(c)
	return func(k int) error {
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": k, "method": "server.ping", "params": map[string]any{}, "auth": strings.TrimSpace(string(token))})
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
	}, c.Close, nil
}
