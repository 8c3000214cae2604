package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/dialect"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestSiftVerbs runs the commands of the client, and a node whose configuration file has all its keys.
func TestSiftVerbs(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	dir, project := shortDir(t), shortDir(t)
	claude := filepath.Join(dir, "projects", strings.ReplaceAll(project, "/", "-"))
	if err := os.MkdirAll(claude, 0o700); err != nil {
		t.Fatal(err)
	}
	session := `{"type":"assistant","timestamp":"2024-01-01T00:00:00Z","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"make giraffe"}}]}}
{"type":"user","timestamp":"2024-01-01T00:00:01Z","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"ok"}]}}
`
	if err := os.WriteFile(filepath.Join(claude, "s.jsonl"), []byte(session), 0o600); err != nil {
		t.Fatal(err)
	}
	base := cairntest.FreePorts(t, 3)
	conf := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, `[server]
wire_port = %d
http_port = %d
bind = "127.0.0.1"
data_dir = %q
[cluster]
node_id = 1
cluster_port = %d
cluster_secret = "none but this test, thirty-two characters"
[local]
disable = ["process"]
sift_home = %q
sift_ns = "team-1"
sift_database = "default"
sift_shared = false
allow_shutdown = true
sift_workspaces = [%q]
sift_transcripts = %q
[local.sift_names]
"team-1/000000000000" = "shared"
`, base, base+1, filepath.Join(dir, "h"), base+2, filepath.Join(dir, "sift"), project, filepath.Join(dir, "projects")), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", conf}}
	t.Cleanup(p.Kill)
	p.Launch()()
	run := func(want int, args ...string) string {
		t.Helper()
		out, code := cairntest.Run(t,
			append([]string{"sift", "--sift-home", filepath.Join(dir, "sift"), "--ns", "team-1", "--workspace", project}, args...)...)
		if code != want {
			t.Errorf("sift %v: exit %d", args, code)
		}
		return out
	}
	if out := run(0, "backfill"); !strings.Contains(out, "transcripts: 1; captured: 1; skipped: 0 (0 there already)\n") {
		t.Errorf("backfill: %s", out)
	}
	if out := run(0, "search", "giraffe"); !strings.HasPrefix(out, "#1  ") || !strings.Contains(out, "[Bash] Ran make giraffe: ok") {
		t.Errorf("search: %s", out)
	}
	if out, err := cairntest.Command(t.Context(), "sift", "search", "zanzibar", "--sift-home", filepath.Join(dir, "sift"),
		"--ns", "team-1", "--workspace", project).CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "nothing found: ") {
		t.Errorf("search of what is not there: %s, %v", out, err)
	}
	var st dialect.SiftState
	if out := run(0, "status"); json.Unmarshal([]byte(out), &st) != nil || st.Daemon != "running" || st.Namespace != "team-1" ||
		!strings.Contains(string(st.Counts), `"events": 1`) {
		t.Errorf("status: %s", out)
	}
	if out := run(0, "list"); !strings.Contains(out, project) {
		t.Errorf("list: %s", out)
	}
	if out := run(0, "call", `{"kind":"get","ids":[1]}`); !strings.Contains(out, "giraffe") {
		t.Errorf("call: %s", out)
	}
	run(cli.ExitFailed, "call", `{"kind":"nothing"}`)
	run(cli.ExitUsage, "call", `{`)
	run(cli.ExitFailed, "open", "/no/such/directory")
	if out := run(0, "drain"); !strings.Contains(out, "extractive") {
		t.Errorf("drain: %s", out)
	}
	if out := run(0, "stop"); !strings.Contains(out, `"stopping": true`) {
		t.Errorf("stop: %s", out)
	}
	suite.Eventually(t, "the end of the workspace's service", func() bool { return strings.Contains(run(0, "status"), "unreachable") })
	if p.Cmd.ProcessState != nil {
		t.Error("the node of a cluster has stopped")
	}
	run(0, "open", project)
	run(0, "ping")
	if pids, err := filepath.Glob(filepath.Join(dir, "sift", "*", "workspaces", "*", "run.pid")); err != nil || len(pids) != 1 {
		t.Errorf("a workspace that is served again has the pid files %v, %v", pids, err)
	}
}

// BenchmarkSift compares, in one run of a node, 32 one-shot clients that capture with 32 connections that write the
// same texts over the wire protocol. It reports captures/s, remembers/s, and their ratio.
func BenchmarkSift(b *testing.B) {
	home := filepath.Join(shortDir(b), "h")
	p := &cairntest.Node{T: b,
		Args: []string{"dev", "--home", home, "--log-level", "warn", "--port-base", fmt.Sprint(cairntest.FreePorts(b, 6))}}
	b.Cleanup(p.Kill)
	p.Launch()()
	raw, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		b.Fatal(err)
	}
	var conns []*client.Client
	for range 32 {
		c, err := client.Dial(b.Context(), client.Config{Addrs: []string{p.Line.Wire}, Token: strings.TrimSpace(string(raw))})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	var serial atomic.Int64
	rate := func(write func(w int, text string) error) float64 {
		var wg sync.WaitGroup
		var done atomic.Int64
		begin := time.Now()
		for w := range 32 {
			wg.Go(func() {
				for time.Since(begin) < 3*time.Second {
					if err := write(w, fmt.Sprintf("step %d of the build went well and left a line of output", serial.Add(1))); err != nil {
						b.Error(err)
						return
					}
					done.Add(1)
				}
			})
		}
		wg.Wait()
		return float64(done.Load()) / time.Since(begin).Seconds()
	}
	for range b.N {
		remembers := rate(func(w int, text string) error {
			_, err := conns[w].Remember(b.Context(), wire.NewRemember(text))
			return err
		})
		captures := rate(func(w int, text string) error {
			_, err := sift.Call(b.Context(), p.Line.Sift, map[string]any{"kind": "capture", "sessionId": "s", "tool": "Bash",
				"payload": map[string]any{"tool_input": map[string]any{"command": "make"}, "tool_response": text}})
			return err
		})
		b.ReportMetric(captures, "captures/s")
		b.ReportMetric(remembers, "remembers/s")
		b.ReportMetric(captures/remembers, "ratio")
	}
}
