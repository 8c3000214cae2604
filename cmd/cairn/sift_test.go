package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/oplog/suite"
)

// shortDir returns a directory with a path short enough for sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// siftAsk sends a request to a socket and decodes the data of the answer.
func siftAsk(ctx context.Context, socket, request string) (m map[string]any, err error) {
	data, err := sift.Call(ctx, socket, json.RawMessage(request))
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(data, &m)
}

// siftInTime repeats a request until it is accepted, because hooks get an error after one second if a busy machine
// takes longer. If the capture was stored meanwhile, the answer is the same.
func siftInTime(ctx context.Context, socket, request string) (m map[string]any, err error) {
	for begin := time.Now(); time.Since(begin) < suite.Patience; sleep(ctx, 20*time.Millisecond) {
		var no *sift.Refusal
		if m, err = siftAsk(ctx, socket, request); !errors.As(err, &no) || !slices.Contains(retryableErrors, no.Text) {
			break
		}
	}
	return m, err
}

// retryableErrors lists the errors that clients get while there is no leader, or if an answer is late.
var retryableErrors = []string{
	"not enough voters answered in time; retry",
	"no leader elected (cluster not ready)",
	"the write may or may not have happened",
	"the write is committed but not yet readable here",
}

func siftDo(t testing.TB, socket, request string) map[string]any {
	t.Helper()
	m, err := siftInTime(t.Context(), socket, request)
	if err != nil {
		t.Fatalf("%.100s: %v", request, err)
	}
	return m
}

// siftOpenAt makes a node serve a directory, like `cairn sift open`.
func siftOpenAt(t testing.TB, home, dir string) string {
	t.Helper()
	out, code := cairntest.Run(t, "sift", "open", dir, "--home", home)
	var s sift.Served
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil {
		t.Fatalf("sift open: exit %d, %s (%v)", code, out, err)
	}
	return s.Socket
}

// TestSiftKilled kills and restarts the node while clients capture. Every acknowledged capture must be stored once,
// under the acknowledged id, and the socket must be at its path again.
func TestSiftKilled(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home := filepath.Join(shortDir(t), "h")
	p := &cairntest.Node{T: t, Args: []string{"dev", "--home", home, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
	t.Cleanup(p.Kill)
	p.Launch()()
	socket := p.Line.Sift
	var mu sync.Mutex
	acked := map[string][2]float64{} // text → event, summary
	for round := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var n atomic.Int64
		for w := range 8 {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; {
					text := fmt.Sprintf("round %d writer %d capture %d", round, w, i)
					r, err := siftAsk(ctx, socket,
						fmt.Sprintf(`{"kind":"capture","sessionId":"w%d","tool":"Notification","payload":{"message":%q}}`, w, text))
					if err != nil { // the node was killed or the disk is slow: repeat the request
						sleep(ctx, time.Millisecond)
						continue
					}
					i++
					mu.Lock()
					acked[text] = [2]float64{r["id"].(float64), r["summaryId"].(float64)}
					mu.Unlock()
					n.Add(1)
				}
			})
		}
		if !suite.Within(suite.Patience, func() bool { return n.Load() >= 100 }) {
			t.Fatalf("only %d captures", n.Load())
		}
		p.Kill()
		cancel()
		wg.Wait()
		p.Launch()()
		if p.Line.Sift != socket {
			t.Fatalf("the socket is %s, was %s", p.Line.Sift, socket)
		}
	}
	seen := map[float64]bool{}
	for text, id := range acked {
		rows := siftDo(t, socket, fmt.Sprintf(`{"kind":"get","ids":[%v]}`, id[1]))["rows"].([]any)
		if len(rows) != 1 || rows[0].(map[string]any)["text"] != text || rows[0].(map[string]any)["eventId"] != id[0] || seen[id[0]] {
			t.Fatalf("%q was acknowledged as %v: %v", text, id, rows)
		}
		seen[id[0]] = true
		// A client that repeats a request gets the same ids.
		w := strings.Fields(text)[3]
		r := siftDo(t, socket, fmt.Sprintf(`{"kind":"capture","sessionId":"w%s","tool":"Notification","payload":{"message":%q}}`, w, text))
		if r["duplicate"] != true || r["id"] != id[0] || r["summaryId"] != id[1] {
			t.Fatalf("%q again: %v", text, r)
		}
	}
	counts := siftDo(t, socket, `{"kind":"status"}`)["counts"].(map[string]any)
	if counts["events"] != counts["summarized"] || counts["events"].(float64) < float64(len(acked)) ||
		counts["events"].(float64) > float64(len(acked)+3*8) {
		t.Errorf("%d acknowledged, %v", len(acked), counts)
	}
	siftDo(t, socket, `{"kind":"shutdown"}`)
	err := p.Wait()
	p.Cmd = nil
	if err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket outlives the node")
	}
}

// TestCapturesLeaveNoSecretOnDisk captures secrets through every protocol, and searches every file of the node and
// its debug log for them.
func TestCapturesLeaveNoSecretOnDisk(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home := filepath.Join(shortDir(t), "h")
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", home, "--log-level", "debug", "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
	t.Cleanup(p.Kill)
	p.Launch()()
	for i := range 60 {
		secret := []string{"password=Zq%dhunter", "<private>Zq%dhunter</private>", "sk-ant-api03-Zq%dhunteraB3aB3aB3aB3aB3",
			"ghp_Zq%dhunter" + strings.Repeat("a", 40)}[i%4]
		secret = fmt.Sprintf(secret, i)
		siftDo(t, p.Line.Sift,
			fmt.Sprintf(`{"kind":"capture","sessionId":"s %[1]s","tool":"Bash","payload":{"tool_input":{"command":"x %[1]s y"},"tool_response":["%[1]s",%[2]d]}}`,
				secret, i))
		siftDo(t, p.Line.Sift, fmt.Sprintf(`{"kind":"search","query":%q}`, secret))
		siftAsk(t.Context(), p.Line.Sift, fmt.Sprintf(`{"kind":%q}`, secret))
	}
	const secret = "sk-ant-api03-ZqhunteraB3aB3aB3aB3aB3"
	if got := siftDo(t, p.Line.Sift,
		`{"kind":"capture","sessionId":"s","tool":"Bash","payload":{"out":"`+secret+`"}}`); !strings.Contains(fmt.Sprint(got["redacted"]), "anthropic") {
		t.Errorf("SiftCoder is not told what was taken out: %v", got)
	}
	if got, _ := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, `"agent_id":"e2e"`) {
		t.Fatalf("register: %s", got)
	}
	if got := stringDo(t, p,
		"/capture Bash --session s\n{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"Zqhunter\"}],\"out\":\""+secret+"\"}"); !strings.Contains(got, "redacted: anthropic, secret") {
		t.Errorf("stringd does not say what was taken out: %s", got)
	}
	token, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range protocols(t, p, strings.TrimSpace(string(token))) {
		if at.capture != nil {
			if got := at.capture("the tool said " + secret); !strings.Contains(got, "anthropic") {
				t.Errorf("%s does not say what was taken out: %s", at.name, got)
			}
		}
	}
	c := cairntest.Command(t.Context(), "import", "--home", home)
	c.Stdin = strings.NewReader(`{"text":"` + secret + `","memory_type":"capture","metadata":{"out":"` + secret + `"}}`)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("import: %v, %s", err, out)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if i := strings.Index(string(b), "hunter"); i >= 0 {
			t.Errorf("%s holds …%q…", path, b[max(0, i-40):min(len(b), i+20)])
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files: %v", files, err)
	}
	if strings.Contains(p.Log.String(), "hunter") || !strings.Contains(p.Log.String(), "request answered") {
		t.Error("the log holds a secret, or nothing")
	}
}

// TestSiftEmbedderHangs checks that captures are stored within their clients' timeout while a real embedding server
// accepts connections and does not answer.
func TestSiftEmbedderHangs(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangs.Close() })
	dir, project := shortDir(t), shortDir(t)
	base := cairntest.FreePorts(t, 3)
	conf := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, `[server]
wire_port = %d
http_port = %d
bind = "127.0.0.1"
data_dir = %q
[embedding]
strategy = "http"
url = "http://%s/v1/embeddings"
model = "m"
dim = 8
[local]
disable = ["process"]
sift_home = %q
sift_ns = "team-1"
sift_database = "default"
sift_workspaces = [%q]
`, base, base+1, filepath.Join(dir, "home"), hangs.Addr(), filepath.Join(dir, "sift"), project), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &cairntest.Node{T: t, Args: []string{"serve", "--config", conf}}
	t.Cleanup(p.Kill)
	p.Launch()()
	socket := filepath.Join(dir, "sift", "team-1", "run", sift.Key(project, "")+".sock")
	late := 0 // a busy machine may exceed a hook's timeout of one second
	for i := range 8 {
		request := fmt.Sprintf(`{"kind":"capture","sessionId":"s","tool":"Notification","payload":{"message":"capybara %d"}}`, i)
		for _, err := siftAsk(t.Context(), socket, request); err != nil; _, err = siftAsk(t.Context(), socket, request) {
			if late++; late > 2 {
				t.Fatalf("capture %d: refused %d times: %v", i, late, err)
			}
		}
	}
	if found := siftDo(t, socket, `{"kind":"search","query":"capybara","k":20}`); len(found["hits"].([]any)) != 8 {
		t.Errorf("%v", found)
	}
}

// TestSiftLargeCapture checks that the largest possible request does not make the leader lose leadership, and that
// small requests succeed meanwhile.
func TestSiftLargeCapture(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "sixteen mebibytes take a minute under the race detector")
	nodes, _ := startThreeIn(t, shortDir(t), func(*config.NodeFile) {}, 0, 1, 2)
	project := shortDir(t)
	var sockets []string
	for _, p := range nodes {
		sockets = append(sockets, siftOpenAt(t, p.Line.Home, project))
	}
	var lines strings.Builder
	for i := 0; lines.Len() < 15<<20; i++ {
		fmt.Fprintf(&lines, "%x lorem %x ipsum %x\\n", i*2654435761%1000003, i*40503%65521, i*i)
	}
	try := 0
	// an unrelated election may happen on a busy machine, but not in every attempt
	suite.Eventually(t, "a leader that the largest request leaves in its place", func() bool {
		try++
		lead := leaderOf(t, nodes)
		term := siftTerm(t, sockets[lead])
		captureConcurrently(t, sockets[(lead+1)%3], sockets[lead], fmt.Sprint("try ", try), lines.String())
		now := siftTerm(t, sockets[lead])
		t.Logf("term %v before it, %v after it", term, now)
		return now == term
	})
}

func siftTerm(t *testing.T, socket string) any {
	t.Helper()
	return siftDo(t, socket, `{"kind":"status"}`)["cluster"].(map[string]any)["term"]
}

// captureConcurrently captures many lines on one socket, and meanwhile small captures on another.
func captureConcurrently(t *testing.T, large, small, session, lines string) {
	t.Helper()
	big := make(chan error, 1)
	go func() {
		_, err := siftInTime(t.Context(), large,
			fmt.Sprintf(`{"kind":"capture","sessionId":%q,"tool":"Read","payload":{"content":"`, session)+lines+`"}}`)
		big <- err
	}()
	var worst time.Duration
	for i := 1; ; i++ {
		begin := time.Now()
		siftDo(t, small, fmt.Sprintf(`{"kind":"capture","sessionId":"beside %s","tool":"Bash","payload":%d}`, session, i))
		worst = max(worst, time.Since(begin))
		select {
		case err := <-big:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d small captures beside it, the slowest took %s", i, worst)
			return
		default:
		}
	}
}
