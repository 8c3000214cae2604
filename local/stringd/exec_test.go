package stringd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/oplog/suite"
)

func TestExecBytes(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	a := d.do("POST", "/exec", `{"cmd":" /set {n} = \"<b>&\"\n","request_id":" r\n1 "}`, "X-Agent-Id: a")
	want := "event: head\ndata: {\"ok\":true,\"code\":null,\"cmd\":\"/set {n} = \\\"<b>&\\\"\",\"request_id\":\"r\\n1\",\"agent_id\":\"a\",\"topic\":\"main\",\"topic_type\":\"tab\",\"meta\":null}\n\n" +
		"event: content\ndata: \"re: [r 1] /set {n} = \\\"<b>&\\\"\\n{n} = \\\"<b>&\\\"\"\n\nevent: done\ndata: {}\n\n"
	if a.status != 200 || a.body != want {
		t.Errorf("got %d\n%s\nwant\n%s", a.status, a.body, want)
	}
	for k, v := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache",
		"Connection": "keep-alive", "X-Accel-Buffering": "no",
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Content-Type, X-Agent-Id"} {
		if got := a.header.Get(k); got != v {
			t.Errorf("%s: got %q, want %q", k, got, v)
		}
	}
	a = d.do("POST", "/exec", `{"cmd":"/nope"}`, "X-Agent-Id: a")
	has(t, a.body, `"ok":false,"code":"COMMAND_UNSUPPORTED"`,
		`"re: /nope\nERROR(COMMAND_UNSUPPORTED): Unknown command: /nope\nUse /info to see available commands."`)
	long := "/set {x} = " + strings.Repeat("é", 100)
	has(t, d.do("POST", "/exec", fmt.Sprintf(`{"cmd":%q}`, long), "X-Agent-Id: a").body, `"cmd":"`+string([]rune(long)[:77])+`..."`)
}

func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		want               string
	}{
		{"POST", "/exec", `{}`, nil, 400, `{"error":"X-Agent-Id header required"}`},
		{"POST", "/exec", `{}`, []string{"X-Agent-Id:  "}, 400, `{"error":"X-Agent-Id header required"}`},
		{"POST", "/exec", `{`, []string{"X-Agent-Id: no"}, 401, `{"error":"Unknown agent: no"}`},
		{"POST", "/exec", `{`, []string{"X-Agent-Id: a"}, 400, `{"error":"Invalid JSON body — expected { \"cmd\": \"...\" }"}`},
		{"POST", "/exec", `[]`, []string{"X-Agent-Id: a"}, 400, `{"error":"Invalid JSON body — expected { \"cmd\": \"...\" }"}`},
		{"POST", "/exec", `null`, []string{"X-Agent-Id: a"}, 400, `{"error":"Invalid JSON body — expected { \"cmd\": \"...\" }"}`},
		{"POST", "/exec", `{"cmd":"  "}`, []string{"X-Agent-Id: a"}, 400, `{"error":"Empty command — provide non-empty \"cmd\" field"}`},
		{"POST", "/exec", `{"cmd":7}`, []string{"X-Agent-Id: a"}, 400, `{"error":"Empty command — provide non-empty \"cmd\" field"}`},
		{"POST", "/exec", `{"cmd":"/info","topic":" file:x "}`, []string{"X-Agent-Id: a"}, 400, `{"error":"Invalid topic: file:x"}`},
		{"POST", "/exec", `{"cmd":"/info","topic":7}`, []string{"X-Agent-Id: a"}, 400, `{"error":"Invalid topic: 7"}`},
		{"GET", "/exec", "", nil, 404, `{"error":"Not found: GET /exec"}`},
		{"GET", "//agents", "", nil, 404, `{"error":"Not found: GET //agents"}`}, // not redirected
		{"GET", "/agents/", "", nil, 404, `{"error":"Not found: GET /agents/"}`},
		{"PUT", "/sessions/a/docs", "", nil, 404, `{"error":"Not found: PUT /sessions/a/docs"}`},
		{"DELETE", "/sessions", "", nil, 400, `{"error":"Expected /sessions/:agent_id/:topic"}`},
		{"GET", "/nowhere?x=1", "", nil, 404, `{"error":"Not found: GET /nowhere"}`},
		{"POST", "/agents", `{"agent_id":" "}`, nil, 400, `{"error":"agent_id required"}`},
		{"POST", "/agents", `nonsense`, nil, 400, `{"error":"agent_id required"}`},
		{"POST", "/agents", `{"agent_id":"../x"}`, nil, 400, `{"error":"Invalid agent_id: ../x"}`},
		{"POST", "/agents", `{"agent_id":"x","home":"rel"}`, nil, 400, `{"error":"home must be an absolute path"}`},
		{"GET", "/agents/no/webhook", "", nil, 404, `{"error":"Unknown agent: no"}`},
		{"DELETE", "/agents/no", "", nil, 200, `{"agent_id":"no","deleted":false}`},
		{"POST", "/sessions", `{`, nil, 400, `{"error":"agent_id required"}`},
		{"POST", "/sessions", `{"agent_id":"no"}`, nil, 401, `{"error":"Unknown agent: no"}`},
		{"POST", "/sessions", `{"agent_id":"a","topic":"a.b"}`, nil, 400, `{"error":"Invalid topic: a.b"}`},
		{"POST", "/sessions", `{"agent_id":"a","topic":"docs"}`, nil, 200,
			`{"agent_id":"a","topic":"docs","topic_type":"tab","created":true}`},
		{"POST", "/sessions", `{"agent_id":"a","topic":"docs"}`, nil, 200,
			`{"agent_id":"a","topic":"docs","topic_type":"tab","created":false}`},
		{"GET", "/sessions?agent_id=no", "", nil, 200, `{"sessions":[]}`},
		{"DELETE", "/sessions/a", "", nil, 400, `{"error":"Expected /sessions/:agent_id/:topic"}`},
		{"DELETE", "/sessions/a/docs", "", nil, 200, `{"agent_id":"a","topic":"docs","deleted":true}`},
		{"DELETE", "/sessions/a%2Fdocs", "", nil, 200, `{"agent_id":"a","topic":"docs","deleted":false}`},
		{"POST", "/webhook/wh_no", "x", nil, 401, `{"error":"Unknown webhook token"}`},
		{"GET", "/events/stream", "", nil, 400, `{"error":"X-Agent-Id header required"}`},
		{"GET", "/events/stream", "", []string{"X-Agent-Id: no"}, 401, `{"error":"Unknown agent: no"}`},
		{"GET", "/health", "", []string{"Host: evil.example.com"}, 403, `{"error":"Host not allowed: evil.example.com"}`},
		{"OPTIONS", "/anything", "", nil, 204, ``},
	} {
		a := d.do(c.method, c.path, c.body, c.headers...)
		if a.status != c.status || a.body != c.want {
			t.Errorf("%s %s %s: got %d %s, want %d %s", c.method, c.path, c.body, a.status, a.body, c.status, c.want)
		}
		if refused := a.header.Get("Access-Control-Allow-Origin") == ""; refused && a.status == 403 {
			continue
		}
		if a.header.Get("Access-Control-Allow-Origin") != "*" ||
			a.header.Get("Access-Control-Allow-Headers") != "Content-Type, X-Agent-Id" {
			t.Errorf("%s %s: no CORS headers", c.method, c.path)
		}
	}
}

func TestBodyCap(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one request of megabytes after the other, which the race detector makes slow")
	}
	d := start(t, nil)
	const limit = 10485760
	frame := `{"cmd":"/set {x} = "}`
	fit := func(n int) string { return frame[:len(frame)-2] + strings.Repeat("y", n-len(frame)) + `"}` }
	if a := d.do("POST", "/exec", fit(limit), "X-Agent-Id: a"); a.status != 200 {
		t.Errorf("at the cap: %d %.100s", a.status, a.body)
	}
	a := d.do("POST", "/exec", fit(limit+1), "X-Agent-Id: a")
	if a.status != 413 || a.body != `{"error":"Request body exceeds 10485760 bytes"}` {
		t.Errorf("over the cap: %d %.100s", a.status, a.body)
	}
	if a := d.do("POST", "/exec", fit(2*limit), "X-Agent-Id: a"); a.status != 413 { // the largest body that is read to its end
		t.Errorf("twice the cap: %d", a.status)
	}
	// a client that still sends may see the connection end
	if a, err := d.try(t.Context(), "POST", "/exec", fit(3*limit), "X-Agent-Id: a"); err == nil && a.status != 413 {
		t.Errorf("far over the cap: %d", a.status)
	}
}

// hold runs a command in a topic that occupies it until release is called.
func (d *daemon) hold(topic string) (release func() outcome) {
	d.t.Helper()
	fifo := filepath.Join(d.dir, "hold-"+topic)
	mark := fifo + ".on"
	got := make(chan outcome, 1)
	go func() {
		o, err := d.tryExec(context.Background(), topic, "/exec : > '"+mark+"'; while [ ! -e '"+fifo+"' ]; do sleep 0.02; done; echo held")
		if err != nil {
			o.Content = err.Error()
		}
		got <- o
	}()
	suite.Eventually(d.t, "the command runs", func() bool { _, err := os.Stat(mark); return err == nil })
	return func() outcome {
		if err := os.WriteFile(fifo, nil, 0o600); err != nil {
			d.t.Error(err)
		}
		return <-got
	}
}

// queued returns how many commands wait in a topic.
func (d *daemon) queued(topic string) int {
	var l struct {
		Sessions []struct {
			Topic string
			N     int `json:"queue_length"`
		}
	}
	if err := json.Unmarshal([]byte(d.do("GET", "/sessions", "").body), &l); err != nil {
		d.t.Fatal(err)
	}
	for _, s := range l.Sessions {
		if s.Topic == topic {
			return s.N
		}
	}
	return -1
}

func TestQueue(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	release := d.hold("main")
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	gone, leave := context.WithCancel(context.Background())
	for i := range 5 {
		ctx := context.Background()
		if i == 2 {
			ctx = gone
		}
		wg.Go(func() {
			o, err := d.tryExec(ctx, "main", fmt.Sprintf("/exec echo %d >> '%s/order'", i, d.dir))
			mu.Lock()
			defer mu.Unlock()
			order = append(order, fmt.Sprint(i, o.OK, err == nil))
		})
		suite.Eventually(d.t, "queued", func() bool { return d.queued("main") == i+1 })
	}
	a := d.do("POST", "/exec", `{"cmd":"/info"}`, "X-Agent-Id: a")
	if a.status != 429 || a.body != `{"error":"QUEUE_FULL","message":"Topic a:main has 5 commands queued. Try again later."}` {
		t.Errorf("the seventh: %d %s", a.status, a.body)
	}
	if o := d.exec("other", "/set"); !o.OK {
		t.Errorf("another topic: %+v", o)
	}
	leave()
	suite.Eventually(d.t, "its place is free", func() bool { return d.queued("main") == 4 })
	if o := release(); !o.OK {
		t.Errorf("held: %+v", o)
	}
	wg.Wait()
	b, err := os.ReadFile(filepath.Join(d.dir, "order"))
	if err != nil || string(b) != "0\n1\n3\n4\n" {
		t.Errorf("ran %q (%v) %v", b, err, order)
	}
}

func TestQueueTimeoutAndClosing(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.QueueWait = 150 * time.Millisecond })
	release := d.hold("main")
	a := d.do("POST", "/exec", `{"cmd":"/info"}`, "X-Agent-Id: a")
	if a.status != 504 || a.body != `{"error":"QUEUE_TIMEOUT","message":"Timed out waiting in queue."}` {
		t.Errorf("got %d %s", a.status, a.body)
	}
	release()

	d = start(t, nil)
	release = d.hold("main")
	got := make(chan answer, 1)
	go func() {
		a, _ := d.try(context.Background(), "POST", "/exec", `{"cmd":"/info"}`, "X-Agent-Id: a")
		got <- a
	}()
	suite.Eventually(d.t, "queued", func() bool { return d.queued("main") == 1 })
	d.do("DELETE", "/sessions/a/main", "")
	if a := <-got; a.status != 504 {
		t.Errorf("queued in a closed session: %d %s", a.status, a.body)
	}
	if o := release(); !strings.Contains(o.Content, "held") {
		t.Errorf("the running one's result: %+v", o)
	}
}

func TestMCPCallWakesTheQueue(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	done := make(chan answer, 1)
	mark, let := filepath.Join(d.dir, "on"), filepath.Join(d.dir, "let")
	go func() {
		a, _ := d.try(context.Background(), "POST", "/mcp",
			call("main", "/exec : > '"+mark+"'; while [ ! -e '"+let+"' ]; do sleep 0.02; done"),
			"X-Agent-Id: a", "Content-Type: application/json")
		done <- a
	}()
	suite.Eventually(d.t, "running", func() bool { _, err := os.Stat(mark); return err == nil })
	if a := d.do("POST", "/mcp", call("main", "/info"), "X-Agent-Id: a",
		"Content-Type: application/json"); !strings.Contains(a.body,
		"ERROR(BUSY): Topic main is executing another command. Retry shortly.") {
		t.Errorf("busy: %s", a.body)
	}
	got := make(chan outcome, 1)
	go func() { o, _ := d.tryExec(context.Background(), "main", "/set"); got <- o }()
	suite.Eventually(d.t, "queued", func() bool { return d.queued("main") == 1 })
	if err := os.WriteFile(let, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o := <-got; !o.OK {
		t.Errorf("woken: %+v", o)
	}
	has(t, (<-done).body, `"isError":false`)
}

func call(topic, cmd string) string {
	b, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": "string", "arguments": map[string]string{"topic": topic, "cmd": cmd}}})
	return string(b)
}

func TestTopicsAreIndependentAndOrdered(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	var wg sync.WaitGroup
	for topic := range 50 {
		wg.Go(func() {
			for i := range 20 {
				name := fmt.Sprint("t", topic)
				if i > 0 {
					if o, err := d.tryExec(context.Background(), name, "/set"); err != nil ||
						!strings.Contains(o.Content, fmt.Sprintf("{n} = \"%d\"", i-1)) {
						t.Errorf("topic %d, command %d: %+v %v", topic, i, o, err)
						return
					}
				}
				if o, err := d.tryExec(context.Background(), name, fmt.Sprintf("/set {n} = %d", i)); err != nil || !o.OK {
					t.Errorf("topic %d, command %d: %+v %v", topic, i, o, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A request that package door rejects reaches no route and changes nothing. For /mcp, the error has the format of
// JSON-RPC.
func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.Origins = []string{"http://localhost:3000"} })
	init := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	a := d.do("POST", "/mcp", init, "Content-Type: application/json", "Origin: null")
	if a.status != 403 || !strings.Contains(a.body, `"code":-32000`) || !strings.Contains(a.body, `"id":null`) {
		t.Errorf("null origin: %d %s", a.status, a.body)
	}
	for origin, want := range map[string]int{d.url: 200, "http://localhost:3000": 200, "http://localhost:9": 403} {
		if a := d.do("POST", "/mcp", init, "Content-Type: application/json", "Origin: "+origin); a.status != want {
			t.Errorf("%s: %d %s", origin, a.status, a.body)
		}
		if a := d.do("OPTIONS", "/exec", "", "Origin: "+origin); (a.status == 204) != (want == 200) ||
			(a.header.Get("Access-Control-Allow-Origin") == "*") != (want == 200) {
			t.Errorf("preflight of %s: %d %v", origin, a.status, a.header)
		}
	}
	if a := d.do("POST", "/agents", `{"agent_id":"evil"}`, "Host: Evil:3923"); a.status != 403 {
		t.Errorf("hostile host: %d", a.status)
	}
	if strings.Contains(d.do("GET", "/agents", "", "Host: LOCALHOST").body, "evil") {
		t.Error("a refused request changed something")
	}
	if a := d.do("GET", "/health", "", "Origin: http://example.com"); a.status != 403 ||
		a.body != `{"error":"Origin not allowed: http://example.com"}` {
		t.Errorf("a page of another origin: %d %s", a.status, a.body)
	}
	if a := d.do("GET", "/health", "", "Host: [::1]:80"); a.status != 200 {
		t.Errorf("::1: %d", a.status)
	}
}
