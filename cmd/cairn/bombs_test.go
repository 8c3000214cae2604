package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// bombTime sets how long a listener is bombed, bombMemory how much more memory the node may use.
const (
	bombTime   = time.Second
	bombMemory = 640 << 20
)

// bombsRunAlone reports whether bombs run one at a time, with all clients, while latencies are measured. Only the
// soak does so, because other tests run next to this one.
func bombsRunAlone() bool { return suite.Count(0, 0, 1) == 1 }

// A bombTarget is a listener of the node with the requests of a well-behaved client and those that overload it.
type bombTarget struct {
	name  string
	well  func(ctx context.Context) error // on its own connection
	bombs map[string]func(ctx context.Context)
}

// TestBombs overloads every listener of a running node: many connections, bytes one by one, endless headers and
// lines, wrong tokens, wrong lengths, deeply nested JSON and msgpack, huge numbers, zstd and tar bombs, and invalid
// text. The node's memory must stay within a bound, and a well-behaved client must get answers; with the build tag
// soak, about as fast as alone. Afterwards the node must be as before.
func TestBombs(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("memory and descriptors of another process are read in /proc, which this system has not")
	}
	suite.NotShort(t, "the race detector takes the memory and the time that are measured here")
	home := filepath.Join(shortDir(t), "h")
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", home, "--log-level", "error", "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
	t.Cleanup(p.Kill)
	p.Launch()()
	registerClient(t, p)
	member := singleMember(t)
	for _, l := range append(listeners(t, p), peerListener(member)) {
		t.Run(l.name, func(t *testing.T) {
			p := p
			if l.name == "peers" {
				p = member
			}
			if bombsRunAlone() {
				for _, name := range sortedNames(l.bombs) {
					t.Run(name, func(t *testing.T) { bomb(t, p, l, l.bombs[name]) })
				}
				return
			}
			all := make([]func(context.Context), 0, len(l.bombs))
			for _, name := range sortedNames(l.bombs) {
				all = append(all, l.bombs[name])
			}
			bomb(t, p, l, all...)
		})
	}
	for _, p := range []*cairntest.Node{p, member} {
		if err := p.Stop(); err != nil {
			t.Errorf("the node ended with %v\n%s", err, p.Log)
		}
	}
}

// peerListener returns the peer port of a member.
func peerListener(p *cairntest.Node) bombTarget {
	well := func(ctx context.Context) error {
		return post(ctx, p.Line.HTTP+"/v1/recall", `{"query":"anything"}`, map[string]string{"Authorization": "Bearer " + p.Token})
	}
	return bombTarget{"peers", well, wireBombs(dialTCP(p.Line.Cluster), wire.OpClusterHello, "")}
}

func sortedNames[V any](m map[string]V) (names []string) {
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// bomb runs bombs next to a listener's well-behaved client and checks the node's memory. If bombs run one at a time,
// it also compares latencies.
func bomb(t *testing.T, p *cairntest.Node, l bombTarget, bombs ...func(context.Context)) {
	pid := p.Cmd.Process.Pid
	before, open := procStat(t, pid)
	var base time.Duration
	if bombsRunAlone() {
		base = tail(t, l, bombTime/4, 50)
	}
	ctx, stop := context.WithTimeout(t.Context(), bombTime+30*time.Second)
	defer stop()
	var wg sync.WaitGroup
	for _, b := range bombs {
		wg.Go(func() { b(ctx) })
	}
	peak := before
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for ctx.Err() == nil {
			now, _ := procStat(t, pid)
			peak = max(peak, now)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	during := tail(t, l, bombTime, 5)
	stop()
	wg.Wait()
	<-watched
	t.Logf("p99 %s alone, %s beside; memory grew by %d MiB", base, during, (peak-before)>>20)
	if bombsRunAlone() && during > max(3*base, time.Second) {
		t.Errorf("p99 went from %s to %s", base, during)
	}
	if peak-before > bombMemory {
		t.Errorf("memory grew by %d MiB", (peak-before)>>20)
	}
	suite.Eventually(t, fmt.Sprintf("%d descriptors again", open), func() bool { // the connections of the bombs are closed
		_, now := procStat(t, pid)
		return now < open+50
	})
}

// tail returns the 99th percentile of the well-behaved client's latency, over a time and a minimum number of
// requests.
func tail(t *testing.T, l bombTarget, d time.Duration, least int) time.Duration {
	t.Helper()
	var took []time.Duration
	for start := time.Now(); time.Since(start) < d || len(took) < least; {
		begin := time.Now()
		err := l.well(suite.Context(t))
		if err != nil {
			t.Fatalf("who means well after %s, %d answers: %v", time.Since(begin), len(took), err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// procStat returns a process's resident memory and number of open descriptors.
func procStat(t *testing.T, pid int) (resident int64, open int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Error(err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if errors.Is(err, fs.ErrPermission) {
		t.Log("a node's descriptors are shown to root alone, and not counted")
	} else if err != nil {
		t.Error(err)
	}
	return pages * int64(os.Getpagesize()), len(fds)
}

// registerClient registers the agent of the well-behaved client with stringd.
func registerClient(t *testing.T, p *cairntest.Node) {
	t.Helper()
	if err := post(t.Context(), p.Line.String+"/agents", `{"agent_id":"well"}`, nil); err != nil {
		t.Fatal(err)
	}
}

// listeners returns all listeners of a node. Well-behaved clients have their own token, because the bombs use up the
// rate limit of theirs.
func listeners(t *testing.T, p *cairntest.Node) []bombTarget {
	token := fileText(t, filepath.Join(p.Line.Home, "token"))
	var well struct{ Token string }
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: filepath.Join(p.Line.Home, "token"), Timeout: suite.Patience}
	if err := tg.Get(t.Context(), "POST", "/v1/admin/tokens", map[string]any{"label": "well-behaved"}, &well); err != nil {
		t.Fatal(err)
	}
	covenantToken := fileText(t, filepath.Join(filepath.Dir(p.Line.Covenant), "peers", "operator.token"))
	processToken := fileText(t, filepath.Join(p.Line.Home, "process.token"))
	onWire := func(ctx context.Context) error {
		c, err := client.Dial(ctx,
			client.Config{Addrs: []string{p.Line.Wire}, Token: well.Token, DialTimeout: suite.Patience, Patience: suite.Patience})
		if err != nil {
			return err
		}
		defer c.Close()
		_, _, err = c.Recall(ctx, wire.NewRecall("anything"))
		return err
	}
	bearer, wellBearer := map[string]string{"Authorization": "Bearer " + token}, map[string]string{"Authorization": "Bearer " + well.Token}
	rpc := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	gateway, mirror, stringd := dialTCP(strings.TrimPrefix(p.Line.HTTP, "http://")), dialTCP(strings.TrimPrefix(p.Line.CovenantHTTP, "http://")), dialTCP(strings.TrimPrefix(p.Line.String, "http://"))
	return []bombTarget{
		{"wire", onWire, wireBombs(dialTCP(p.Line.Wire), wire.OpAuth, token)},
		{"gateway", func(ctx context.Context) error {
			return post(ctx, p.Line.HTTP+"/v1/recall", `{"query":"anything"}`, wellBearer)
		}, httpBombs(gateway, "/v1/remember", bearer)},
		{"gateway mcp", func(ctx context.Context) error { return post(ctx, p.Line.HTTP+"/mcp", rpc, withMCP(wellBearer)) },
			httpBombs(gateway, "/mcp", withMCP(bearer))},
		{"stringd", func(ctx context.Context) error {
			return post(ctx, p.Line.String+"/exec", `{"cmd":"/info","topic":"mine"}`, map[string]string{"X-Agent-Id": "well"})
		}, httpBombs(stringd, "/exec", map[string]string{"X-Agent-Id": "well"})},
		{"stringd mcp", func(ctx context.Context) error { return post(ctx, p.Line.String+"/mcp", rpc, withMCP(nil)) },
			httpBombs(stringd, "/mcp", withMCP(nil))},
		{"covenant mirror", func(ctx context.Context) error {
			return post(ctx, p.Line.CovenantHTTP+"/ignore/check", `{"text":"x"}`,
				map[string]string{"Authorization": "Bearer " + covenantToken})
		}, httpBombs(mirror, "/intent", map[string]string{"Authorization": "Bearer " + covenantToken})},
		{"sift", func(ctx context.Context) error {
			_, err := siftAsk(ctx, p.Line.Sift, `{"kind":"search","query":"anything"}`)
			return err
		}, siftBombs(dialUnix(p.Line.Sift))},
		{"covenant", func(ctx context.Context) error {
			c, err := covenant.Dial(ctx, filepath.Dir(p.Line.Covenant))
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Call(map[string]any{"kind": "search_memory", "query": "anything"}, func(json.RawMessage) error { return nil })
		}, covenantBombs(dialUnix(p.Line.Covenant), covenantToken)},
		{"process", func(ctx context.Context) error { return processPing(ctx, p.Line.Process, processToken) },
			processBombs(t, dialUnix(p.Line.Process), processToken)},
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func withMCP(h map[string]string) map[string]string {
	out := map[string]string{"Accept": "application/json, text/event-stream"}
	for k, v := range h {
		out[k] = v
	}
	return out
}

// post sends a request on its own connection and fails unless the answer is a success.
func post(ctx context.Context, url, body string, headers map[string]string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Close = true
	r.Header.Set("Content-Type", "application/json")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, res.Status)
	}
	return nil
}

func processPing(ctx context.Context, socket, token string) error {
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if d, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(d); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(c, `{"jsonrpc":"2.0","id":1,"method":"server.ping","auth":%q}`+"\n", token); err != nil {
		return err
	}
	var r struct{ Result struct{ Pong bool } }
	if err := json.NewDecoder(c).Decode(&r); err != nil {
		return err
	}
	if !r.Result.Pong {
		return fmt.Errorf("no pong")
	}
	return nil
}
