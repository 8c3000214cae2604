package covenant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func capabilities(c *client, limit int) []object {
	c.t.Helper()
	return list(c.want("capabilities", fmt.Sprintf(`{"kind":"recent_capabilities","limit":%d}`, limit))["capabilities"])
}

func action(o object) any { return o["capability"].(object)["action"] }

func (c *client) grant(body string) string {
	c.t.Helper()
	return c.want("capability_granted", `{"kind":"grant_capability",`+body+`}`)["signature_b58"].(string)
}

func TestBootstrapGrants(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	var got []any
	for _, o := range capabilities(c, 100) {
		got = append(got, action(o))
		inner := o["capability"].(object)
		if strings.Join(keys(inner), ",") != "action,expires_at,granted_by,scope,subject" || inner["expires_at"] != nil ||
			strings.Join(keys(o), ",") != "capability,signature" {
			t.Errorf("%v", o)
		}
	}
	if s := fmt.Sprint(got); s != "[memory.read memory.write memory.purge audit.purge capabilities.purge peers.purge chain.receipts]" {
		t.Errorf("granted at first: %s", s)
	}
	if rows := c.audit(); len(rows) != 7 || rows[0]["type"] != "capability_granted" {
		t.Errorf("audit rows %v", rows)
	}
	d.restart()
	if n := len(capabilities(d.operator(), 100)); n != 7 {
		t.Errorf("%d after a restart", n)
	}
	strict := start(t, func(c *covenant.Config) { c.NoBootstrap = true })
	s := strict.operator()
	if n := len(capabilities(s, 100)); n != 0 {
		t.Errorf("%d without bootstrap", n)
	}
	s.refused("memory read requires capability", `{"kind":"recent_memory"}`)
}

// TestGates sends every request that has a gate as an identity without capabilities.
func TestGates(t *testing.T) {
	t.Parallel()
	d := start(t)
	bob, key := d.enroll("bob@local")
	self := fmt.Sprintf(`{"display":"bob@local","pubkey":%q}`, key)
	op := capabilities(d.operator(), 1)[0]["capability"].(object)["subject"].(object)
	other := fmt.Sprintf(`{"display":%q,"pubkey":%q}`, op["display"], op["pubkey"])
	for _, g := range []struct{ request, label, action, text string }{
		{`{"kind":"submit_intent","text":"x"}`, "memory:write", "memory.write",
			`intent dispatch requires capability "memory.write" because successful dispatch writes working memory.`},
		{`{"kind":"recent_memory"}`, "memory:recent", "memory.read",
			`memory read requires capability "memory.read" or a tier-specific memory.read.<tier> capability.`},
		{`{"kind":"search_memory","query":"x"}`, "memory:search", "memory.read", `memory search requires capability "memory.read" or `},
		{`{"kind":"purge_memory","before_ms":1}`, "memory:purge", "memory.purge", `memory purge requires capability "memory.purge".`},
		{`{"kind":"purge_audit","before_ms":1}`, "audit:purge", "audit.purge", `audit purge requires capability "audit.purge".`},
		{`{"kind":"purge_capabilities","before_ms":1}`, "capabilities:purge", "capabilities.purge",
			`capabilities purge requires capability "capabilities.purge".`},
		{`{"kind":"purge_peers","before_ms":1}`, "peers:purge", "peers.purge", `peers purge requires capability "peers.purge".`},
		{`{"kind":"recent_receipts"}`, "chain:receipts", "chain.receipts", `receipt reads require capability "chain.receipts".`},
		{`{"kind":"call_tool","name":"nope"}`, "tool:nope", "tool.call.nope", `tool nope requires capability ["tool.call.nope"].`},
		{`{"kind":"send_a2_a_task","task":{"id":"11111111-1111-4111-8111-111111111111","sender":` + self + `,"recipient":` + other + `,"intent_text":"x"}}`,
			"a2a-send:user@local", "a2a.send.user@local", `a2a send to user@local requires capability "a2a.send.user@local".`},
	} {
		r := bob.want("error", g.request)
		hint := fmt.Sprintf("Grant it with `covenant capabilities grant %s`.", g.action)
		if m := r["message"].(string); !strings.HasPrefix(m, g.text) || !strings.HasSuffix(m, hint) {
			t.Errorf("%s: %q", g.request, m)
		}
		e := list(bob.want("audit_events", `{"kind":"recent_audit","limit":1}`)["events"])[0]["kind"].(object)
		if e["type"] != "capability_check" || e["agent_id"] != g.label || e["passed"] != false || len(e["authorized_by"].([]any)) != 0 ||
			e["missing_actions"].([]any)[0] != g.action {
			t.Errorf("%s: audit row %v", g.request, e)
		}
	}
	bob.refused("audit integrity verification requires the operator identity", `{"kind":"verify_audit_integrity"}`)
	for _, open := range []string{`{"kind":"ping"}`, `{"kind":"recent_audit"}`, `{"kind":"recent_capabilities"}`,
		`{"kind":"verify"}`, `{"kind":"ignore_check","text":""}`,
		`{"kind":"list_tools"}`, `{"kind":"try_recv_a2_a_task"}`, `{"kind":"try_recv_a2_a_result"}`, `{"kind":"a2_a_queue"}`} {
		if r := bob.call(open); r["kind"] == "error" {
			t.Errorf("%s is gated: %v", open, r)
		}
	}
	for _, operators := range []string{`{"kind":"enroll_peer","display":"x@y","actions":[]}`, `{"kind":"list_peers"}`,
		`{"kind":"revoke_peer","token_prefix":"abc"}`, `{"kind":"rotate_operator_token"}`} {
		bob.refused("peers: ", operators)
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	bob, _ := d.enroll("bob@local", "memory.read.working")
	bob.refused("permissions: grants require the operator identity", `{"kind":"grant_capability","action":"memory.purge"}`)
	if row := bob.lastAudit(); row["type"] != "capability_grant_rejected" || row["action"] != "memory.purge" {
		t.Errorf("%v", row)
	}
	bob.grant(`"action":"a2a.recv.user@local"`)
	bob.want("memories", `{"kind":"recent_memory","tier":"working"}`)
	bob.refused("memory read requires", `{"kind":"recent_memory","tier":"episodic"}`)
	bob.refused("memory read requires", `{"kind":"recent_memory"}`)

	sig := c.grant(`"action":"tool.call.echo","scope":null`)
	if again := c.grant(`"action":"tool.call.echo","scope":{}`); again != sig {
		t.Errorf("the same capability has another signature")
	}
	n := 0
	for _, o := range capabilities(c, 100) {
		if action(o) == "tool.call.echo" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("granted twice, listed %d times", n)
	}
	if last := capabilities(c, 1); action(last[0]) != "tool.call.echo" {
		t.Errorf("limit 1 gives %v", last)
	}
	for body, text := range map[string]string{
		`"action":"memory.read","scope":[]`:            "permissions: invalid capability scope: memory.read: scope must be a JSON object",
		`"action":"memory.read","scope":{"tiers":[]}`:  "permissions: invalid capability scope: memory.read: non-empty scopes must set version 1",
		`"action":"tool.call.x","scope":{"version":2}`: "permissions: invalid capability scope: tool.call.x: unsupported scope version 2",
		`"action":"memory.read","scope":"all"`:         "permissions: invalid capability scope: memory.read: scope must be a JSON object",
	} {
		c.refused(text, `{"kind":"grant_capability",`+body+`}`)
	}
	c.grant(`"action":"anything.else","scope":[1,2]`)
	c.grant(`"action":"memory.read","scope":{"version":1,"note":"kept"}`)
	if got := capabilities(c, 1)[0]["capability"].(object)["scope"].(object)["note"]; got != "kept" {
		t.Errorf("an unknown field of a scope: %v", got)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	c := start(t).operator()
	now := time.Now().UnixMilli()
	c.grant(fmt.Sprintf(`"action":"tool.call.clock","expires_at":%d`, now-1000))
	c.refused(`tool clock requires capability ["tool.call.clock"].`, `{"kind":"call_tool","name":"clock"}`)
	c.grant(fmt.Sprintf(`"action":"tool.call.clock","expires_at":%d`, now+3_600_000))
	c.want("tool_result", `{"kind":"call_tool","name":"clock"}`)
	if got := capabilities(c, 2); len(got) != 2 || got[0]["capability"].(object)["expires_at"] != float64(now-1000) {
		t.Errorf("an expired one is still listed: %v", got)
	}
}

func TestRevokeAndGrantAgain(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	sig := c.grant(`"action":"tool.call.echo"`)
	revoke := func(s string) string { return fmt.Sprintf(`{"kind":"revoke_capability","signature_b58":%q}`, s) }
	bob, _ := d.enroll("bob@local")
	bob.refused("revoke rejected: capability subject does not match authenticated peer", revoke(sig))
	if row := c.lastAudit(); row["type"] != "capability_revoke_rejected" || row["signature_b58"] != sig {
		t.Errorf("%v", row)
	}
	c.refused("revoke rejected: capability subject", revoke(strings.Repeat("3", 87)))
	c.refused("invalid base58 signature: ", revoke("0OIl"))
	c.refused("signature must decode to 64 bytes", revoke("abc"))
	for _, removed := range []bool{true, false} {
		if r := c.want("capability_revoked", revoke(sig)); r["removed"] != removed || r["signature_b58"] != sig {
			t.Errorf("%v, want removed %t", r, removed)
		}
	}
	c.refused("tool echo requires", `{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`)
	if again := c.grant(`"action":"tool.call.echo"`); again != sig {
		t.Fatalf("another signature")
	}
	c.want("tool_result", `{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`)

	c.want("capability_revoked", revoke(sig))
	if r := c.want("capabilities_purged", `{"kind":"purge_capabilities","before_ms":1}`); r["purged"] != 0.0 {
		t.Errorf("%v", r)
	}
	before := len(capabilities(c, 1000))
	if r := c.want("capabilities_purged", `{"kind":"purge_capabilities","before_ms":99999999999999}`); r["purged"] != 1.0 {
		t.Errorf("%v", r)
	}
	if n := len(capabilities(c, 1000)); n != before {
		t.Errorf("%d capabilities live after a purge, %d before", n, before)
	}
	c.refused("tool echo requires", `{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`)
}

// TestForgedCapability stores a capability that the operator has not signed.
func TestForgedCapability(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	sig := c.grant(`"action":"tool.call.clock"`)
	self := capabilities(c, 1)[0]["capability"].(object)["subject"].(object)["pubkey"].(string)
	forged := &oplog.Grant{Signature: "1" + sig, Subject: self, Action: "tool.call.echo", Scope: []byte("{}"), GrantedBy: self, At: 1}
	if _, err := api.Grant.Ask(t.Context(), d.cfg.Memory, forged); err != nil {
		t.Fatal(err)
	}
	c.refused("tool echo requires", `{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`)
}

// TestScopes checks each field of a scope with a request that the scope allows and one that it rejects.
func TestScopes(t *testing.T) {
	t.Parallel()
	const far = "99999999999999"
	for _, s := range []struct{ action, scope, yes, no, text string }{
		{"memory.read", `{"version":1,"tiers":["working"]}`, `{"kind":"recent_memory","tier":"working"}`,
			`{"kind":"recent_memory","tier":"episodic"}`,
			"memory read rejected by capability scope: tier or before_ms does not match capability scope"},
		{"memory.read", `{"version":1,"tiers":["working","episodic","longterm"]}`, `{"kind":"search_memory","query":"x"}`, "", ""},
		{"memory.read", `{"version":1,"apply":true}`, "", `{"kind":"search_memory","query":"x"}`,
			"memory search rejected by capability scope"},
		{"memory.write", `{"version":1,"apply":false}`, "", `{"kind":"submit_intent","text":"x"}`,
			"memory write rejected by capability scope"},
		{"memory.write", `{"version":1,"tiers":["working"],"before_ms":` + far + `}`, `{"kind":"submit_intent","text":"x"}`, "", ""},
		{"memory.write", `{"version":1,"before_ms":5}`, "", `{"kind":"submit_intent","text":"x"}`,
			"memory write rejected by capability scope"},
		{"memory.purge", `{"version":1,"tiers":["working"]}`, `{"kind":"purge_memory","tier":"working","before_ms":1}`,
			`{"kind":"purge_memory","before_ms":1}`,
			"memory purge rejected by capability scope: tier or before_ms does not match capability scope"},
		{"memory.purge", `{"version":1,"before_ms":5}`, `{"kind":"purge_memory","before_ms":5}`,
			`{"kind":"purge_memory","before_ms":6}`, "memory purge rejected by capability scope"},
		{"audit.purge", `{"version":1,"before_ms":5}`, `{"kind":"purge_audit","before_ms":5}`,
			`{"kind":"purge_audit","before_ms":6}`, "audit purge rejected by capability scope"},
		{"capabilities.purge", `{"version":1,"before_ms":5}`, `{"kind":"purge_capabilities","before_ms":5}`,
			`{"kind":"purge_capabilities","before_ms":6}`, "capabilities purge rejected by capability scope"},
		{"peers.purge", `{"version":1,"before_ms":5}`, `{"kind":"purge_peers","before_ms":5}`,
			`{"kind":"purge_peers","before_ms":6}`, "peers purge rejected by capability scope"},
		{"chain.receipts", `{"version":1,"limit":5}`, `{"kind":"recent_receipts","limit":5}`, `{"kind":"recent_receipts"}`,
			"receipt read rejected by capability scope"},
		{"tool.call.echo", `{"version":1,"tool":"echo"}`, `{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`, "", ""},
		{"tool.call.echo", `{"version":1,"tool":"clock"}`, "", `{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`,
			"tool echo rejected by capability scope"},
		{"tool.call.echo", `{"version":1,"arguments":[{"text":"x"}]}`, "",
			`{"kind":"call_tool","name":"echo","arguments":{"text":"x"}}`, "tool echo rejected by capability scope"},
		{"tool.call.echo", `{"version":1,"arguments":{"allow":{"text":"yes"}}}`,
			`{"kind":"call_tool","name":"echo","arguments":{ "text" : "yes" }}`,
			`{"kind":"call_tool","name":"echo","arguments":{"text":"no"}}`, "tool echo rejected by capability scope"},
	} {
		t.Run(s.action+s.scope, func(t *testing.T) {
			t.Parallel()
			c := start(t, func(c *covenant.Config) { c.NoBootstrap = true }).operator()
			c.grant(fmt.Sprintf(`"action":%q,"scope":%s`, s.action, s.scope))
			if s.yes != "" {
				if r := c.call(s.yes); r["kind"] == "error" {
					t.Errorf("%s: %v", s.yes, r)
				}
			}
			if s.no != "" {
				c.refused(s.text, s.no)
				if row := c.lastAudit(); row["type"] != "capability_scope_rejected" || row["action"] != s.action {
					t.Errorf("audit row %v", row)
				}
				c.grant(fmt.Sprintf(`"action":%q`, s.action)) // one capability that allows the request is enough
				if r := c.call(s.no); r["kind"] == "error" {
					t.Errorf("with a wider capability: %v", r)
				}
			}
		})
	}
}

func TestReadScopesNarrowRecords(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *covenant.Config) { c.NoBootstrap = true })
	c := d.operator()
	c.grant(`"action":"memory.write"`)
	first := c.intent("one tea")
	c.intent("two tea")
	c.grant(fmt.Sprintf(`"action":"memory.read","scope":{"version":1,"record_id":%q}`, first["intent_id"]))
	for _, body := range []string{`{"kind":"recent_memory","limit":1}`, `{"kind":"search_memory","query":"tea","limit":1}`} {
		if rs := c.records(body); len(rs) != 1 || rs[0]["id"] != first["intent_id"] {
			t.Errorf("%s: %v", body, texts(rs))
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	c := start(t).operator()
	c.send(`{"kind":"list_tools"}`)
	const native = `{"kind":"tool_list","tools":[{"name":"clock","description":"Returns the current Unix time in milliseconds.",` +
		`"inputSchema":{"type":"object","properties":{},"additionalProperties":false}},` +
		`{"name":"echo","description":"Returns the provided ` + "`text`" + ` argument verbatim.",` +
		`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}},`
	if got := string(c.recv()); !strings.HasPrefix(got, native) {
		t.Errorf("%s", got)
	}
	var names []any
	for _, s := range list(c.want("tool_list", `{"kind":"list_tools"}`)["tools"]) {
		names = append(names, s["name"])
		if strings.Join(keys(s), ",") != "description,inputSchema,name" {
			t.Errorf("%v", s)
		}
	}
	if fmt.Sprint(names) != "[clock echo memory.recent memory.search]" {
		t.Errorf("%v", names)
	}
	c.refused(`tool missing requires capability ["tool.call.missing"].`, `{"kind":"call_tool","name":"missing"}`)
	for _, n := range []string{"missing", "clock", "echo", "memory.search"} {
		c.grant(`"action":"tool.call.` + n + `"`)
	}
	c.refused("tool: tool not found: missing", `{"kind":"call_tool","name":"missing"}`)
	for _, bad := range []string{`null`, `{}`, `{"text":1}`, `{"text":"x","more":1}`, `[]`} {
		c.refused("tool: invalid arguments: ", `{"kind":"call_tool","name":"echo","arguments":`+bad+`}`)
	}
	c.send(`{"kind":"call_tool","name":"echo","arguments":{"text":"<b>"}}`)
	if got := string(c.recv()); got != `{"kind":"tool_result","content":[{"type":"text","text":"<b>"}],"is_error":false}` {
		t.Errorf("%s", got)
	}
	r := c.want("tool_result", `{"kind":"call_tool","name":"clock"}`)
	if v := list(r["content"])[0]; v["type"] != "json" || v["value"].(object)["epoch_ms"].(float64) < 1e12 {
		t.Errorf("%v", v)
	}
	c.intent("tea in a tool")
	r = c.want("tool_result", `{"kind":"call_tool","name":"memory.search","arguments":{"query":"tea"}}`)
	if v := list(r["content"])[0]["value"].([]any); len(v) != 1 || r["is_error"] != false {
		t.Errorf("%v", r)
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	bob, key := d.enroll("bob@local", "memory.read")
	if got := capabilities(bob, 10); len(got) != 1 || action(got[0]) != "memory.read" {
		t.Errorf("a peer's capabilities: %v", got)
	}
	c.refused("peers: bob@local is enrolled already", `{"kind":"enroll_peer","display":"bob@local","actions":[]}`)
	peers := list(c.want("peer_list", `{"kind":"list_peers"}`)["peers"])
	if len(peers) != 2 || peers[0]["agent_id"].(object)["pubkey"] != key || peers[0]["agent_id"].(object)["display"] != "bob@local" ||
		peers[0]["revoked_at"] != nil ||
		strings.Join(keys(peers[0]), ",") != "agent_id,registered_at,revoked_at,token_prefix" {
		t.Errorf("%v", peers)
	}
	operator := peers[1]["agent_id"].(object)["pubkey"].(string)
	count := func(more string) (n int, truncated any) {
		r := c.want("peer_list", `{"kind":"list_peers"`+more+`}`)
		if r["operator_pubkey_b58"] != operator {
			t.Errorf("%v", r)
		}
		return len(list(r["peers"])), r["truncated"]
	}
	for more, want := range map[string]int{`,"pubkey_prefix":"` + key[:10] + `"`: 1, `,"pubkey_prefix":"0"`: 0,
		`,"status_filter":"live"`: 2, `,"status_filter":"revoked"`: 0, `,"status_filter":null,"pubkey_prefix":null`: 2, `,"limit":0`: 0} {
		if n, _ := count(more); n != want {
			t.Errorf("%s: %d registrations", more, n)
		}
	}
	if n, truncated := count(`,"limit":1`); n != 1 || truncated != true {
		t.Errorf("limited: %d %v", n, truncated)
	}
	outcome := func(prefix any, more string) object {
		return c.want("peer_revoked", fmt.Sprintf(`{"kind":"revoke_peer","token_prefix":%q%s}`, prefix, more))["outcome"].(object)
	}
	prefix := peers[0]["token_prefix"]
	for _, want := range []string{"revoked", "already_revoked"} {
		if r := outcome(prefix, ""); r["type"] != want || r["token_prefix"] != prefix || r["revoked_at"] == nil ||
			r["agent_id"].(object)["pubkey"] != key {
			t.Errorf("want %s: %v", want, r)
		}
	}
	if row := c.lastAudit(); row["type"] != "peer_revoked" || row["peer_display"] != "bob@local" || row["token_prefix"] != prefix {
		t.Errorf("%v", row)
	}
	if r := outcome(peers[1]["token_prefix"], ""); r["type"] != "self_revoke_forbidden" || r["revoked_at"] != nil {
		t.Errorf("the operator's own: %v", r)
	}
	if r := outcome("000000", ""); len(r) != 1 || r["type"] != "not_found" {
		t.Errorf("no such token: %v", r)
	}
	if n, _ := count(`,"status_filter":"revoked"`); n != 1 {
		t.Errorf("%d revoked", n)
	}
	bob.want("memories", `{"kind":"recent_memory"}`) // this connection was authenticated before
	old := d.token()
	r := c.want("operator_token_rotated", `{"kind":"rotate_operator_token"}`)
	if r["token_b58"] != d.token() || d.token() == old {
		t.Errorf("rotation: %v", r)
	}
	if row := c.lastAudit(); row["type"] != "operator_token_rotated" || row["old_token_prefix"] != old[:6] ||
		row["new_token_prefix"] != d.token()[:6] {
		t.Errorf("rotation: %v", row)
	}
	x := d.dial()
	if r := x.call(fmt.Sprintf(`{"kind":"authenticate","token_b58":%q}`, old)); r["reason"] != "unknown or revoked token" {
		t.Errorf("the old token: %v", r)
	}
	if r := d.operator().want("peers_purged", `{"kind":"purge_peers","before_ms":99999999999999}`); r["purged"] != 2.0 {
		t.Errorf("%v", r)
	}
	d.restart()
	if n := len(list(d.operator().want("peer_list", `{"kind":"list_peers"}`)["peers"])); n != 1 {
		t.Errorf("%d registrations after a purge and a restart", n)
	}
}
