package node_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/node/nodetest"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// with returns the gateway with another token.
func (w *web) with(token string) *web { return &web{t: w.t, base: w.base, token: token} }

// createToken creates a token of database "default".
func (w *web) createToken(body obj) string {
	w.t.Helper()
	return w.ok("POST", "/v1/admin/tokens", body)["token"].(string)
}

// tool calls a tool for models and returns the status and the tool's error.
func (w *web) tool(name string, args obj) (status int, header http.Header, failure string) {
	w.t.Helper()
	b, err := json.Marshal(obj{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": obj{"name": name, "arguments": args}})
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.base+"/mcp?tools=full", bytes.NewReader(b))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	var out struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
		Error any
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		w.t.Fatalf("mcp answers %d %q", resp.StatusCode, raw)
	}
	if out.Result.IsError {
		failure = out.Result.Content[0].Text
	} else if out.Error != nil {
		failure = fmt.Sprint(out.Error)
	}
	return resp.StatusCode, resp.Header, failure
}

func wireClient(t testing.TB, addr, token string) (*client.Client, error) {
	cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{addr}, Token: token})
	if err == nil {
		t.Cleanup(func() { cl.Close() })
	}
	return cl, err
}

// TestScopesHoldOnEverySurface checks scopes over the wire, over HTTP and in models' tools, and that an expired or
// revoked token is rejected on all of them.
func TestScopesHoldOnEverySurface(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	master, addr := c.web(0), c.nodes[0].Addrs().Wire
	var soon time.Time
	var short string
	suite.Eventually(t, "a token that will expire", func() bool { // a token that has expired cannot be created
		soon = time.Now().Add(1500 * time.Millisecond)
		status, out := master.send("POST", "/v1/admin/tokens", obj{"expires_at": float64(soon.UnixMicro()) / 1e6, "label": "short"})
		short, _ = out["token"].(string)
		return status == http.StatusOK
	})
	for _, tc := range []struct {
		scopes             []string
		read, write, admin bool
	}{
		{nil, true, true, false},
		{[]string{"read"}, true, false, false},
		{[]string{"write"}, false, true, false},
		{[]string{"read", "owner"}, true, false, false},
		{[]string{"read", "write", "admin"}, true, true, true},
	} {
		name := strings.Join(tc.scopes, "+")
		token := master.createToken(obj{"scopes": tc.scopes})
		check := func(surface, right string, want bool, said string) {
			t.Helper()
			if refused := strings.Contains(said, "token has no "+right+" scope"); refused == want || want && said != "" {
				t.Errorf("%q over %s: %s is refused: %t (%s)", name, surface, right, refused, said)
			}
		}
		w := master.with(token)
		text := func(out obj) string { s, _ := out["error"].(string); return s }
		_, out := w.send("POST", "/v1/remember", obj{"text": "over http"})
		check("http", "write", tc.write, text(out))
		_, out = w.send("POST", "/v1/recall", obj{"query": "http"})
		check("http", "read", tc.read, text(out))
		_, out = w.send("GET", "/v1/admin/audit", nil)
		check("http", "admin", tc.admin, text(out))
		_, out = w.send("DELETE", "/v1/databases/nowhere", nil)
		if tc.admin != (text(out) == "no such database") {
			t.Errorf("%q drops databases: %v", name, out)
		}

		cl, err := wireClient(t, addr, token)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cl.Remember(t.Context(), wire.NewRemember("over the wire"))
		check("the wire", "write", tc.write, orEmpty(err))
		_, _, err = cl.Recall(t.Context(), wire.NewRecall("wire"))
		check("the wire", "read", tc.read, orEmpty(err))

		if tc.read { // models' sessions need scope read
			_, _, said := w.tool("remember", obj{"text": "as a tool"})
			check("mcp", "write", tc.write, said)
			_, _, said = w.tool("recall", obj{"query": "tool"})
			check("mcp", "read", tc.read, said)
		} else if status, _, _ := w.tool("remember", obj{"text": "as a tool"}); status != http.StatusForbidden {
			t.Errorf("%q opens mcp with %d", name, status)
		}
	}
	ended := master.createToken(obj{"label": "ended"})
	master.ok("POST", "/v1/admin/tokens/revoke", obj{"hash": access.HashToken(ended)[:12]})
	suite.Eventually(t, "the short token's end", func() bool { return time.Now().After(soon) })
	for name, token := range map[string]string{"expired": short, "revoked": ended, "made up": "ydb_none"} {
		w := master.with(token)
		if status, out := w.send("POST", "/v1/remember", obj{"text": "no effect"}); status != 401 ||
			out["error"] != "invalid or revoked token" {
			t.Errorf("%s over http: %d %v", name, status, out)
		}
		if status, _, _ := w.tool("recall", obj{"query": "x"}); status != 401 {
			t.Errorf("%s as a tool: %d", name, status)
		}
		if _, err := wireClient(t, addr, token); !client.IsCode(err, wire.CodeAuthInvalid) {
			t.Errorf("%s over the wire: %v", name, err)
		}
	}
	if got := master.ok("POST", "/v1/recall", obj{"query": "no effect", "top_k": 50}); strings.Contains(fmt.Sprint(got), "no effect") {
		t.Errorf("a refused write is there: %v", got)
	}
}

func orEmpty(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestLimitsHoldOnEveryNode checks that a limit set on one node holds on all nodes and all surfaces with tokens, that
// callers without a limit are not limited, and that a limit can be removed.
func TestLimitsHoldOnEveryNode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	leader := c.web(c.leader())
	bounded, free := leader.createToken(obj{"label": "bounded"}), leader.createToken(obj{"label": "free"})
	const burst = 3
	limit := leader.ok("POST", "/v1/admin/tokens/limit", obj{"token": bounded, "max_rps": 1, "burst": burst})
	for i := range c.nodes {
		w := c.web(i).with(bounded)
		suite.Eventually(t, "the bound on every node", func() bool {
			return c.web(i).ok("GET", "/v1/stats?verbose=1", nil)["applied_index"].(float64) >= float64(position(t, limit["log_index"]))
		})
		refused, after := 0, ""
		suite.Eventually(t, "a refusal", func() bool { // the node applies the limit with the log
			status, header, _ := w.tool("status", obj{})
			if status == http.StatusTooManyRequests {
				refused, after = refused+1, header.Get("Retry-After")
			}
			return refused > 0
		})
		if n, err := strconv.Atoi(after); err != nil || n < 1 {
			t.Errorf("node %d: Retry-After %q", i+1, after)
		}
		suite.Eventually(t, "a refusal over http", func() bool { // one operation a second becomes available
			status, out := w.send("GET", "/v1/stats", nil)
			if status != http.StatusOK &&
				(status != http.StatusTooManyRequests || out["code"] != "rate_limited" ||
					!strings.Contains(out["error"].(string), "for this token")) {
				t.Errorf("node %d over http: %d %v", i+1, status, out)
			}
			return status != http.StatusOK
		})
		cl, err := wireClient(t, c.nodes[i].Addrs().Wire, bounded)
		if err != nil {
			t.Fatal(err)
		}
		suite.Eventually(t, "a refusal over the wire", func() bool {
			_, err = cl.Stats(t.Context())
			return err != nil
		})
		var e *client.Error
		if !client.IsCode(err, wire.CodeInternal) || !asError(err, &e) || e.RetryAfter() <= 0 {
			t.Errorf("node %d over the wire: %v", i+1, err)
		}
		for range 5 * burst {
			c.web(i).with(free).ok("GET", "/v1/stats", nil)
		}
	}
	leader.ok("POST", "/v1/admin/tokens/limit", obj{"token": bounded})
	leader.ok("POST", "/v1/admin/databases/default/quota", obj{"max_rps": 1, "burst": 1})
	suite.Eventually(t, "the database's bound", func() bool {
		_, out := leader.with(free).send("GET", "/v1/stats", nil)
		return strings.Contains(fmt.Sprint(out["error"]), "for this database")
	})
	leader.ok("POST", "/v1/admin/databases/default/quota", obj{"max_rps": 0, "burst": 0, "max_batch_size": 2}) // is not itself subject to it
	cl, err := wireClient(t, c.nodes[c.leader()].Addrs().Wire, free)
	if err != nil {
		t.Fatal(err)
	}
	three := wire.RememberBatch{Memories: []wire.Remember{wire.NewRemember("a"), wire.NewRemember("b"), wire.NewRemember("c")}}
	if _, err := cl.RememberBatch(t.Context(), three); !client.IsCode(err, wire.CodeInvalidPayload) ||
		!strings.Contains(err.Error(), "batch size 3 exceeds quota 2 for this database") {
		t.Errorf("a batch over the wire: %v", err)
	}
	suite.Eventually(t, "no bound", func() bool {
		for range 10 {
			if status, _ := leader.with(bounded).send("GET", "/v1/stats", nil); status != 200 {
				return false
			}
		}
		return true
	})
	c.agree()
}

func asError(err error, into **client.Error) bool {
	e, ok := err.(*client.Error)
	*into = e
	return ok
}

// TestTheNewestLinesOfTheLog checks that records without visible entries do not count, and that the newest entries
// come last.
func TestTheNewestLinesOfTheLog(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, text := range []string{"one", "two", "three"} {
		w.ok("POST", "/v1/remember", obj{"text": text})
	}
	last := w.ok("POST", "/v1/remember", obj{"text": "four"})["rid"].(string)
	for range 30 {
		w.ok("POST", "/v1/forget", obj{"rid": "none"})
	}
	lines := strings.Split(strings.TrimSpace(w.raw("GET", "/v1/admin/log?limit=2", "")), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], last) {
		t.Errorf("the newest two:\n%s", strings.Join(lines, "\n"))
	}
	if got := w.raw("GET", "/v1/admin/log?limit=0", ""); got != "" {
		t.Errorf("none: %s", got)
	}
}

// TestUsesOfTokensAreTold checks that every node learns when a token was used on any node, and that many uses cost
// few entries.
func TestUsesOfTokensAreTold(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Tokens.Uses = 100 * time.Millisecond })
	leader := c.leader()
	token := c.web(leader).createToken(obj{"label": "used"})
	used := func(i int) any {
		for _, row := range c.web(i).ok("GET", "/v1/admin/tokens", nil)["tokens"].([]any) {
			if row := row.(obj); row["label"] == "used" {
				return row["last_used_at"]
			}
		}
		return nil
	}
	if got := used(leader); got != nil {
		t.Errorf("used before it was: %v", got)
	}
	follower := c.web((leader + 1) % 3).with(token)
	suite.Eventually(t, "the token on the follower",
		func() bool { status, _ := follower.send("GET", "/v1/stats", nil); return status == 200 })
	before := c.nodes[leader].Service().Applied()
	start := time.Now()
	for range 300 {
		follower.ok("GET", "/v1/stats", nil)
	}
	for i := range c.nodes {
		suite.Eventually(t, "the use on every node", func() bool { at, ok := used(i).(float64); return ok && at >= float64(start.Unix()) })
	}
	most := uint64(time.Since(start)/(100*time.Millisecond)) + 2
	if grown := uint64(c.nodes[leader].Service().Applied() - before); grown > most {
		t.Errorf("300 uses are %d entries, at most %d were due", grown, most)
	}
	c.agree()
}

// TestTheAuditSaysWhoDidWhat checks that changes of the control plane are recorded with the caller, equally on all
// nodes, whichever node was asked, and that rejected ones are not.
func TestTheAuditSaysWhoDidWhat(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Surfaces.ForwardWrites = new(true) })
	leader := c.leader()
	follower := c.web((leader + 1) % 3)
	token := follower.createToken(obj{"label": "deploys", "scopes": []string{"read", "write", "admin"}})
	w := follower.with(token)
	suite.Eventually(t, "the token on the follower", func() bool { status, _ := w.send("GET", "/v1/stats", nil); return status == 200 })
	w.ok("POST", "/v1/databases", obj{"name": "work"})
	if status, _ := w.send("POST", "/v1/databases", obj{"name": "work"}); status != 409 {
		t.Errorf("made twice: %d", status)
	}
	w.ok("POST", "/v1/admin/databases/work/quota", obj{"max_memories": 7, "max_rps": 70})
	w.ok("POST", "/v1/remember", obj{"text": "a memory is nobody's audit"})
	w.ok("DELETE", "/v1/databases/work", nil)
	w.ok("POST", "/v1/cluster/transfer", obj{"node_id": (leader+1)%3 + 1})
	c.agree()
	w.ok("POST", "/v1/cluster/transfer", obj{})
	c.agree()
	out := 3 - c.leader() - (leader+1)%3
	w.ok("POST", "/v1/cluster/remove", obj{"node_id": out + 1})
	w.ok("POST", "/v1/cluster/join", obj{"node_id": out + 1, "addr": c.cfgs[out].Addresses.Cluster})
	w.ok("POST", "/v1/cluster/join", obj{"node_id": out + 1, "addr": c.cfgs[out].Addresses.Cluster}) // it is a member already
	c.agree()
	var want string
	for i := range c.nodes {
		var lines []string
		for _, r := range c.web(i).ok("GET", "/v1/admin/audit", nil)["audit"].([]any) {
			r := r.(obj)
			lines = append(lines, fmt.Sprint(r["by"], "/", r["label"], " ", r["what"], " ", r["on"], " ", r["how"]))
		}
		got := strings.Join(lines, "\n")
		if i == 0 {
			want = got
		} else if got != want {
			t.Errorf("node %d has another audit:\n%s\n---\n%s", i+1, got, want)
		}
	}
	by, made := access.HashToken(token)[:12]+"/deploys", access.HashToken(token)[:12]
	expect := []string{by + fmt.Sprintf(" join node %d %s", out+1, c.cfgs[out].Addresses.Cluster), by + fmt.Sprintf(" remove node %d ", out+1),
		by + " transfer any node ",
		by + fmt.Sprintf(" transfer node %d ", (leader+1)%3+1), by + " drop_database work ",
		by + " set_limit work max_rps 70, burst 0, max_batch_size 0",
		by + " set_quota work max_memories 7", by + " create_database work ",
		"master/ create_token " + made + ` database default, label "deploys", scopes read, write, admin, trust operator`}
	if want != strings.Join(expect, "\n") {
		t.Errorf("the audit is\n%s\nwant\n%s", want, strings.Join(expect, "\n"))
	}
}

// hello sends a hello to a peer port as some version of a node, with or without a key.
func hello(t testing.TB, addr string, id uint32, key ed25519.PrivateKey, h *wire.RaftHello) (refusal string) {
	t.Helper()
	p := dialPeerPort(t, addr)
	f, err := nodetest.SayHello(p.nc, p.r, secret, key,
		&wire.ClusterHello{NodeID: id, Role: "voter", AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: 1, Raft: h})
	if err != nil {
		t.Fatal(err)
	}
	if f.Op == wire.OpClusterHelloOK {
		return ""
	}
	var e wire.Error
	if err := wire.Unpack(f, &e, wire.MaxPlainPeer); err != nil {
		t.Fatal(err)
	}
	return e.Message
}

// firstKinds are all kinds of operations except those of limits and of the audit.
var firstKinds = slices.DeleteFunc(oplog.Reads(), func(k byte) bool {
	return k == byte(oplog.KindOf[oplog.SetLimit]()) || k == byte(oplog.KindOf[oplog.Audit]())
})

// ofVersion returns a member's part of a hello as another version sends it.
func ofVersion(version string, change func(*wire.RaftHello)) *wire.RaftHello {
	h := nodetest.Versions()
	h.Version = version
	change(h)
	return h
}

// TestAHelloWithoutVersionsIsRefused checks that a hello without versions, under a member's id, does not block new
// operations on the leader.
func TestAHelloWithoutVersionsIsRefused(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	for name, without := range map[string]func(*wire.RaftHello){
		"records":    func(h *wire.RaftHello) { h.EntryMin, h.EntryMax = 0, 0 },
		"snapshots":  func(h *wire.RaftHello) { h.StateMin, h.StateMax = 0, 0 },
		"operations": func(h *wire.RaftHello) { h.Reads = nil },
	} {
		said := hello(t, c.cfgs[leader].Addresses.Cluster, uint32((leader+1)%3+1), nil, ofVersion("0.1", without))
		if !strings.Contains(said, "does not say which records, snapshots and operations it reads") {
			t.Errorf("without %s: %q", name, said)
		}
	}
	c.web(leader).ok("POST", "/v1/admin/databases/default/quota", obj{"max_rps": 1000})
}

// TestNewKindsWaitForTheOldestMember checks that an operation is rejected with a reason while a member runs a version
// that cannot read it, and that other operations work. Once all can read it, it enters the log, and from then on
// nodes that cannot read it are rejected.
func TestNewKindsWaitForTheOldestMember(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	old := (leader + 1) % 3
	c.stop(old)
	key, err := home.OpenIdentity(c.cfgs[old].Home)
	if err != nil {
		t.Fatal(err)
	}
	w := c.web(leader)
	addr := c.cfgs[leader].Addresses.Cluster
	if said := hello(t, addr, uint32(old+1), key,
		ofVersion("0.9", func(h *wire.RaftHello) { h.HasState, h.Reads = true, firstKinds })); said != "" {
		t.Fatalf("an old member is not let in: %s", said)
	}
	status, out := w.send("POST", "/v1/admin/databases/default/quota", obj{"max_rps": 1000})
	if want := fmt.Sprintf("node %d (version 0.9) does not read set_limit: upgrade it first", old+1); status != 409 ||
		out["code"] != "version_upgrade" || out["error"] != want {
		t.Errorf("a new kind beside an old member: %d %v", status, out)
	}
	w.ok("POST", "/v1/databases", obj{"name": "work"})
	w.ok("POST", "/v1/remember", obj{"text": "life goes on"})
	if got := w.ok("GET", "/v1/admin/audit", nil)["audit"].([]any); len(got) != 0 {
		t.Errorf("an audit the old member cannot read: %v", got)
	}
	c.open(old)
	c.ready(old)
	suite.Eventually(t, "the upgraded member", func() bool {
		status, _ := w.send("POST", "/v1/admin/databases/default/quota", obj{"max_rps": 1000})
		return status == 200
	})
	if got := w.ok("GET", "/v1/admin/audit", nil)["audit"].([]any); len(got) != 1 {
		t.Errorf("the audit after the upgrade: %v", got)
	}
	c.agree()
	said := hello(t, addr, uint32(old+1), key, ofVersion("0.9", func(h *wire.RaftHello) { h.HasState, h.Reads = true, firstKinds }))
	if !strings.Contains(said, "the log holds operations that the peer (0.9) does not read (set_limit, audit): upgrade it") {
		t.Errorf("a member that cannot read the log: %q", said)
	}
	if said := hello(t, addr, 9, nil,
		ofVersion("0.9", func(h *wire.RaftHello) { h.StateMin, h.StateMax = 7, 8 })); !strings.Contains(said, "snapshots of formats 3 to 3, the peer (0.9) 7 to 8") {
		t.Errorf("a peer of another state: %q", said)
	}
	if said := hello(t, addr, 9, nil,
		ofVersion("2.0", func(h *wire.RaftHello) { h.Needs = []byte{200} })); !strings.Contains(said, "does not read (kind 200): upgrade it") {
		t.Errorf("a peer whose log is not for this version: %q", said)
	}
}

// TestAChangeOfEmbedderIsAudited checks that the audit has an administrator's change of a database's embedder, and not
// the embedder that the first write sets.
func TestAChangeOfEmbedderIsAudited(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Embedder = builtin(t, 64) })
	w := c.web(0)
	w.ok("POST", "/v1/databases", obj{"name": "bare"})
	w.ok("POST", "/v1/remember", obj{"text": "a violin in the attic"})
	for _, db := range []string{"default", "bare"} {
		w.ok("POST", "/v1/admin/databases/"+db+"/embedding", obj{"embedder": "none"})
	}
	var got []string
	for _, r := range w.ok("GET", "/v1/admin/audit", nil)["audit"].([]any) {
		r := r.(obj)
		got = append(got, fmt.Sprint(r["by"], " ", r["what"], " ", r["on"], " ", r["how"]))
	}
	want := []string{"master set_embedder bare embedder none", "master rebind default embedder none", "master create_database bare "}
	if !slices.Equal(got, want) {
		t.Errorf("the audit is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTheUsesOfManyTokens checks that the last uses of more tokens than an entry has room for arrive in the log.
func TestTheUsesOfManyTokens(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Tokens.Uses = 2 * time.Second })
	token := c.web(0).createToken(obj{"label": "one of many"})
	for i := range oplog.MaxOps {
		c.nodes[0].Access().Used(fmt.Sprintf("%064d", i))
	}
	c.web(0).with(token).ok("GET", "/v1/stats", nil)
	suite.Eventually(t, "the use in the state", func() bool {
		at, err := state.Get(c.nodes[0].State(), func(v *state.View) oplog.Time { return v.TokenUsed(access.HashToken(token)) })
		return err == nil && at > 0
	})
}
