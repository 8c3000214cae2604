package covenant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

type web struct {
	*daemon
	token string
}

func (w web) do(method, path, body string, head ...string) (int, http.Header, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://"+w.HTTP()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.token != "" {
		r.Header.Set("Authorization", "bEaReR "+w.token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestHTTPMirror(t *testing.T) {
	t.Parallel()
	d := start(t)
	w := web{d, d.token()}
	d.operator().grant(`"action":"tool.call.echo"`)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/health", "", `{"status":"ok"}`},
		{"GET", "/version", "",
			`{"kind":"protocol_info","info":{"protocol":"covenant.ipc","version":1,"min_supported":1,"max_supported":2}}`},
		{"POST", "/intent", `{"text":"tea over http"}`, `{"kind":"intent_result"`},
		{"GET", "/memory/recent", "", `{"kind":"memories","records":[{"id"`},
		{"GET", "/memory/recent?tier=episodic&limit=3", "", `{"kind":"memories","records":[]}`},
		{"GET", "/memory/search?q=tea&min_relevance=0.1", "", `{"kind":"memories","records":[{"id"`},
		{"GET", "/receipts/recent?since_ms=1", "", `{"kind":"receipts","receipts":[{"id"`},
		{"GET", "/capabilities/recent", "", `{"kind":"capabilities","capabilities":[{`},
		{"POST", "/capabilities/grant", `{"action":"x.y"}`, `{"kind":"capability_granted"`},
		{"POST", "/capabilities/revoke", `{"signature_b58":"abc"}`, `{"kind":"error","message":"signature must decode to 64 bytes"}`},
		{"POST", "/capabilities/purge", `{"before_ms":1}`, `{"kind":"capabilities_purged","purged":0}`},
		{"GET", "/verify?window=5", "", `{"kind":"verify_report","window":5,`},
		{"GET", "/tools", "", `{"kind":"tool_list"`},
		{"POST", "/tools/call", `{"name":"echo","arguments":{"text":"x"}}`, `{"kind":"tool_result"`},
		{"GET", "/audit/recent", "", `{"kind":"audit_events","events":[{`},
		{"GET", "/audit/verify", "", `{"kind":"audit_integrity","report":{`},
		{"POST", "/audit/purge", `{"before_ms":1}`, `{"kind":"audit_purged","purged":0}`},
		{"POST", "/a2a/results", `{"task_id":"11111111-1111-4111-8111-111111111111","status":"ok"}`,
			`{"kind":"error","message":"a2a respond rejected: task_id 11111111-1111-4111-8111-111111111111 was never`},
		{"GET", "/a2a/tasks/next", "", `{"kind":"a2_a_task_opt","task":null}`},
		{"GET", "/a2a/results/next", "", `{"kind":"a2_a_result_opt","result":null}`},
		{"GET", "/a2a/tasks/recent", "", `{"kind":"a2_a_tasks","tasks":[]}`},
		{"GET", "/a2a/results/recent?limit=3", "", `{"kind":"a2_a_results","results":[]}`},
		{"GET", "/budget/debits?limit=3", "", `{"kind":"debits","debits":[]}`},
		{"POST", "/intents/resume", `{"intent_id":"11111111-1111-4111-8111-111111111111"}`,
			`{"kind":"error","message":"intent: 11111111-1111-4111-8111-111111111111 has no checkpoint to resume from"}`},
		{"GET", "/a2a/queue?state_filter=queued&min_lease_age_ms=1", "", `{"kind":"a2_a_queue","tasks":[],"results":[]}`},
		{"GET", "/peers/list", "", `{"kind":"peer_list","peers":[{"agent_id":{"display":"user@local"`},
		{"GET", "/peers/list?status=live", "", `{"kind":"peer_list","peers":[{"agent_id":{"display":"user@local"`},
		{"GET", "/peers/list?status=revoked", "", `{"kind":"peer_list","peers":[]`},
		{"GET", "/peers/list?prefix=0", "", `{"kind":"peer_list","peers":[]`}, // no key has this prefix, because base58 has no 0
		{"GET", "/memory/recent?consistency=linearizable&min_index=1", "", `{"kind":"memories","records":[{"id"`},
		{"GET", "/memory/recent?min_index=1099511627776", "",
			`{"kind":"error","message":"memory: replica behind: the cluster's log ends at log index`},
		{"POST", "/peers/purge", `{"before_ms":1}`, `{"kind":"peers_purged","purged":0}`},
		{"POST", "/peers/revoke", `{"token_prefix":"000000"}`, `{"kind":"peer_revoked","outcome":{"type":"not_found"}}`},
		{"POST", "/memory/purge", `{"before_ms":1}`, `{"kind":"memory_purged","purged":0}`},
	} {
		code, head, got := w.do(c.method, c.path, c.body)
		if code != 200 || !strings.HasPrefix(got, c.want) || head.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %.200s, want %s", c.method, c.path, code, got, c.want)
		}
	}
	for _, c := range []struct {
		method, path, body string
		code               int
	}{
		{"GET", "/nowhere", "", 404}, {"GET", "/intent", "", 405}, {"POST", "/intent", `{`, 400}, {"POST", "/intent", `{}`, 422},
		{"GET", "/memory/recent?limit=x", "", 400}, {"GET", "/memory/recent?limit=-1", "", 422}, {"GET", "/memory/recent?tier=x", "", 422},
		{"GET", "/memory/recent?consistency=x", "", 422},
		{"GET", "/memory/search", "", 422},
	} {
		if code, _, got := w.do(c.method, c.path, c.body); code != c.code {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, code, got, c.code)
		}
	}
}

// TestAStreamEndsWithItsToken: after its token is revoked, a client gets no further rows of a stream.
func TestAStreamEndsWithItsToken(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	d := start(t)
	token := d.operator().want("peer_enrolled",
		`{"kind":"enroll_peer","display":"reader@local","actions":["memory.read","memory.write"]}`)["token_b58"].(string)
	c := d.as(token)
	for range 100 { // more than fits the buffers of a connection
		c.intent(strings.Repeat("x", 256<<10))
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+d.HTTP()+"/memory/recent?limit=1000", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if out := d.operator().want("peer_revoked",
		fmt.Sprintf(`{"kind":"revoke_peer","token_prefix":%q}`, token))["outcome"].(object); out["type"] != "revoked" {
		t.Fatal(out)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(b), "event: stream_error") || strings.Contains(string(b), "event: stream_end") ||
		!strings.Contains(string(b), "unknown or revoked token") {
		t.Errorf("%v, %d bytes that end with %.200q", err, len(b), b[max(0, len(b)-200):])
	}
}

func TestHTTPAuthorization(t *testing.T) {
	t.Parallel()
	d := start(t)
	for _, c := range []struct{ header, want string }{
		{"", "missing Authorization header"},
		{"Basic abc", "expected `Authorization: Bearer <token>`"},
		{"Bearer", "expected `Authorization: Bearer <token>`"},
		{"Bearer 0OIl", "malformed bearer token"},
		{"Bearer FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF", "unknown or revoked token"},
	} {
		head := []string{}
		if c.header != "" {
			head = []string{"Authorization", c.header}
		}
		code, _, got := web{d, ""}.do("GET", "/memory/recent", "", head...)
		want, _ := json.Marshal(map[string]string{"kind": "error", "message": c.want})
		var g, x any
		json.Unmarshal([]byte(got), &g)
		json.Unmarshal(want, &x)
		if code != 401 || g.(object)["message"] != c.want {
			t.Errorf("%q: %d %s", c.header, code, got)
		}
		if row := d.operator().lastAudit(); row["transport"] != "http" || row["reason"] != c.want {
			t.Errorf("%q: audit row %v", c.header, row)
		}
	}
}

func TestHTTPOrigins(t *testing.T) {
	t.Parallel()
	d := start(t)
	w := web{d, d.token()}
	_, head, _ := w.do("OPTIONS", "/intent", "", "Origin", "http://localhost:3000")
	if head.Get("Access-Control-Allow-Origin") != "http://localhost:3000" ||
		head.Get("Access-Control-Allow-Methods") != "GET, POST, OPTIONS" || head.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("%v", head)
	}
	for _, head := range [][]string{{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}} {
		for _, method := range []string{"GET", "OPTIONS"} {
			if code, h, got := w.do(method, "/tools", "", head...); code != 403 || h.Get("Access-Control-Allow-Origin") != "" ||
				!strings.HasPrefix(got, `{"kind":"error","message":"Origin not allowed: `) {
				t.Errorf("%s %v: %d %s", method, head, code, got)
			}
		}
	}
}

func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	d := start(t)
	w := web{d, d.token()}
	w.do("POST", "/intent", `{"text":"tea\nin two lines"}`)
	for _, accept := range []string{"text/event-stream", "application/json, TEXT/Event-Stream;q=0.5"} {
		_, head, got := w.do("GET", "/memory/recent", "", "Accept", accept)
		if head.Get("Content-Type") != "text/event-stream" || head.Get("Cache-Control") != "no-cache" ||
			head.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%v", head)
		}
		events := strings.Split(strings.TrimSuffix(got, "\n\n"), "\n\n")
		if len(events) != 3 || !strings.HasPrefix(events[0], "event: stream_begin\ndata: {\"kind\":\"stream_begin\"") ||
			!strings.HasPrefix(events[1], "event: stream_chunk\ndata: {") || strings.Count(events[1], "\n") != 1 ||
			!strings.HasPrefix(events[2], "event: stream_end\n") {
			t.Errorf("%q", events)
		}
	}
	for _, accept := range []string{"*/*", "text/*", ""} {
		if _, head, _ := w.do("GET", "/memory/recent", "", "Accept", accept); head.Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q streams", accept)
		}
	}
	if _, _, got := w.do("POST", "/intent", `{"text":"tea again"}`, "Accept",
		"text/event-stream"); !strings.Contains(got, `"summary":{"intent_id":`) {
		t.Errorf("%s", got)
	}
	if _, head, got := w.do("POST", "/intent", `{"text":"src/.env"}`, "Accept",
		"text/event-stream"); head.Get("Content-Type") != "application/json" || !strings.Contains(got, `"status":"ignored"`) {
		t.Errorf("an ignored intent: %s", got)
	}
}

// leaving is a node whose answer to a stored intent waits until its client has left.
type leaving struct {
	api.Host
	stored, left chan struct{}
}

func (l leaving) Do(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	a, err := l.Host.Do(ctx, c, op, request)
	if op != api.KeepIntent.Op || err != nil {
		return a, err
	}
	close(l.stored)
	<-l.left
	return a, ctx.Err()
}

// TestAnIntentOutlivesItsClient: an intent over HTTP whose client leaves while it is stored gets its audit row, as one
// on the socket.
func TestAnIntentOutlivesItsClient(t *testing.T) {
	t.Parallel()
	l := leaving{stored: make(chan struct{}), left: make(chan struct{})}
	d := start(t, func(c *covenant.Config) {
		l.Host = c.Memory.Host
		c.Memory.Host = l
	})
	c := d.operator()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+d.HTTP()+"/intent", strings.NewReader(`{"text":"remember tea"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.token())
	r.Header.Set("Content-Type", "application/json")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			resp.Body.Close()
		}
	}()
	<-l.stored
	leave()
	<-ended
	close(l.left)
	suite.Eventually(t, "the intent's row", func() bool { return c.lastAudit()["type"] == "intent_dispatched" })
	if v := c.want("verify_report", `{"kind":"verify"}`); v["orphans_total"] != 0.0 {
		t.Errorf("%v", v)
	}
}
