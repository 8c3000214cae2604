package covenant_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestATaskGoesWhereItsNameSays: a capability to send to an agent does not allow a task to another agent's key under
// the same name.
func TestATaskGoesWhereItsNameSays(t *testing.T) {
	t.Parallel()
	d := start(t)
	ann, annKey := d.enroll("ann@local", "a2a.send.bob@local")
	_, bobKey := d.enroll("bob@local", "a2a.recv.ann@local")
	carol, carolKey := d.enroll("carol@local", "a2a.recv.ann@local")
	me := agent("ann@local", annKey)
	ann.refused(`a2a send to `+carolKey+` requires capability "a2a.send.`+carolKey+`".`,
		send(taskOf(uuid.NewString(), me, agent("bob@local", carolKey), "")))
	ann.refused("a2a send to carol@local requires capability", send(taskOf(uuid.NewString(), me, agent("carol@local", carolKey), "")))
	if got := carol.want("a2_a_task_opt", recvTask)["task"]; got != nil {
		t.Errorf("carol got %v", got)
	}
	ann.want("a2_a_task_queued", send(taskOf(uuid.NewString(), me, agent("bob@local", bobKey), "")))
	dan, danKey := d.enroll("dan@local", "a2a.send."+bobKey)
	dan.refused("a2a send to bob@local rejected: recipient has not granted capability",
		send(taskOf(uuid.NewString(), agent("dan@local", danKey), agent("bob@local", bobKey), "")))
}

// TestBootstrapRowsAfterACrash: if a node dies while it writes the rows of the bootstrap capabilities, it writes the
// missing rows at its next start, and none twice.
func TestBootstrapRowsAfterACrash(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.operator() // the operator is known by now, so the rows are written
	for _, kept := range []int{3, 0, 7} {
		d.cutAudit(kept)
		c := d.operator()
		rows := map[any]bool{}
		for _, row := range c.audit() {
			rows[row["signature_b58"]] = true
		}
		if n := len(c.audit()); n != 7 || len(rows) != 7 {
			t.Errorf("after %d rows there are %d, for %d capabilities", kept, n, len(rows))
		}
	}
}

// cutAudit restarts the server with only the first rows of its audit files.
func (d *daemon) cutAudit(kept int) {
	d.t.Helper()
	if err := d.Close(); err != nil {
		d.t.Fatal(err)
	}
	for _, name := range []string{"events.jsonl", "events.chain.jsonl"} {
		path := filepath.Join(d.cfg.Home, "audit", name)
		raw, err := os.ReadFile(path)
		if err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Join(bytes.SplitAfter(raw, []byte("\n"))[:kept], nil), 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	d.serve()
}

// TestAnEnrolmentThatWasCutOffIsRepeated: if a node dies or fails before it has written the token of an enrolment,
// the name can be enrolled again. The peer then holds only the actions of the new request.
func TestAnEnrolmentThatWasCutOffIsRepeated(t *testing.T) {
	t.Parallel()
	d := start(t)
	_, key := d.enroll("ann@local", "memory.read", "memory.write")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.cfg.Home, "peers", "registry.jsonl")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(raw, []byte("\n"))
	if err := os.WriteFile(path, bytes.Join(lines[:len(lines)-2], nil), 0o600); err != nil { // removes the line of the token
		t.Fatal(err)
	}
	d.serve()
	ann, again := d.enroll("ann@local", "memory.read", "chain.receipts")
	if again != key {
		t.Errorf("the key was %s and is %s", key, again)
	}
	held := map[any]bool{}
	for _, c := range capabilities(ann, 10) {
		held[action(c)] = true
	}
	if len(held) != 2 || !held["memory.read"] || !held["chain.receipts"] {
		t.Errorf("it holds %v", held)
	}
	op := d.operator()
	op.refused("peers: ann@local is enrolled already", `{"kind":"enroll_peer","display":"ann@local","actions":[]}`)

	op.refused("permissions: invalid action", `{"kind":"enroll_peer","display":"bob@local","actions":["memory.read",""]}`)
	bob := op.want("peer_enrolled", `{"kind":"enroll_peer","display":"bob@local","actions":["memory.read"]}`) // the client does not get this answer
	op.want("peer_revoked", `{"kind":"revoke_peer","token_prefix":"`+bob["token_b58"].(string)+`"}`)
	if c, same := d.enroll("bob@local"); same != bob["pubkey_b58"] || len(capabilities(c, 10)) != 0 {
		t.Errorf("after a revocation: key %v, was %v; it holds %v", same, bob["pubkey_b58"], capabilities(c, 10))
	}
	if bad := op.want("verify_report", `{"kind":"verify"}`); bad["orphans_total"] != 0.0 {
		t.Errorf("%v", bad)
	}
}

// TestOneOfManyEnrolmentsWins: of concurrent enrolments of one name, exactly one succeeds.
func TestOneOfManyEnrolmentsWins(t *testing.T) {
	t.Parallel()
	d := start(t)
	won := make(chan bool)
	for range 8 {
		c := d.operator()
		go func() {
			won <- c.call(`{"kind":"enroll_peer","display":"ann@local","actions":["memory.read"]}`)["kind"] == "peer_enrolled"
		}()
	}
	n := 0
	for range 8 {
		if <-won {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of 8 enrolments were answered", n)
	}
}

// TestANameOfAnotherNode: a name that another node has enrolled is rejected, whatever tokens this node has.
func TestANameOfAnotherNode(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.enroll("ann@local")
	other := *d
	other.cfg.Home = filepath.Join(d.cfg.Home, "2")
	other.cfg.Secret, other.cfg.HTTP = "", ""
	other.serve()
	t.Cleanup(func() { other.Close() })
	other.operator().refused("peers: ann@local is enrolled already", `{"kind":"enroll_peer","display":"ann@local","actions":[]}`)
}

// TestVerifyNamesWhatDrifts: the names of the checks, their report for a consistent store, and the kinds of drift for
// one whose audit log has lost rows.
func TestVerifyNamesWhatDrifts(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	intent, signature := c.intent("remember tea")["intent_id"], c.grant(`"action":"tool.call.echo"`)
	verify := func() string {
		t.Helper()
		c.send(`{"kind":"verify"}`)
		return string(c.recv())
	}
	const report = `{"kind":"verify_report","window":100,"checks":[` +
		`{"name":"memory ↔ audit","passed":%t,"message":"%d memory orphan(s), 0 audit orphan(s)"},` +
		`{"name":"memory parent references","passed":true,"message":"0 stale parent reference(s)"},` +
		`{"name":"capability ↔ audit","passed":%[1]t,"message":"%[2]d capabilit(ies) without matching grant audit event"},` +
		`{"name":"memory ↔ receipts","passed":true,"message":"1 memory record(s) vs 1 receipt(s); count diff = 0; exact drift = 0; legacy fallback = 0"}],"drift":[`
	if got, want := verify(), fmt.Sprintf(report, true, 0)+`],"orphans_total":0}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d.cutAudit(7) // keeps the rows of the bootstrap capabilities
	c = d.operator()
	want := fmt.Sprintf(report+`{"kind":"memory_without_audit","id":%q,"message":"memory record has no intent_dispatched row",`+
		`"repair":"inspect the record; purge it if it was not asked for"},`+
		`{"kind":"capability_without_audit","id":%q,"message":"capability has no capability_granted row",`+
		`"repair":"revoke it if it was not granted"}],"orphans_total":2}`, false, 1, intent, signature)
	if got := verify(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNothingIsDoneWithoutItsRow: if another process has changed the audit files, requests that need a row are
// rejected, and other requests succeed.
func TestNothingIsDoneWithoutItsRow(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	f, err := os.OpenFile(filepath.Join(d.cfg.Home, "audit", "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("{}\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	const refused = `{"kind":"error","message":"audit write failed; refusing to proceed"}`
	for _, request := range []string{`{"kind":"recent_memory"}`, `{"kind":"submit_intent","text":"tea"}`,
		`{"kind":"grant_capability","action":"x.y"}`, `{"kind":"call_tool","name":"echo"}`} {
		c.send(request)
		if got := string(c.recv()); got != refused {
			t.Errorf("%s: %s", request, got)
		}
	}
	c.want("pong", `{"kind":"ping"}`)
	early := d.dial()
	early.send(`{"kind":"ping"}`)
	if got := string(early.recv()); got != refused {
		t.Errorf("before authentication: %s", got)
	}
	early.ended()
}

// TestVerifyOfAHealthyStore: neither a long answer, nor what the memory's clients merge, split, correct, forget or
// erase, is drift.
func TestVerifyOfAHealthyStore(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	healthy := func(after string) {
		t.Helper()
		if r := c.want("verify_report", `{"kind":"verify"}`); r["orphans_total"] != 0.0 || len(r["drift"].([]any)) > 0 {
			t.Errorf("after %s: %v", after, r)
		}
	}
	intent := func(text string) string { return c.intent(text)["intent_id"].(string) }
	done := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	intent("Alice leads the payments team " + strings.Repeat("x", 970)) // the words before it make two credits of the answer
	intent("who leads the payments team")
	healthy("long answers")
	m := d.cfg.Memory
	tea, heron := intent("Carol sells green tea"), intent("A heron wades at dawn")
	merged, err := api.Merge.Ask(t.Context(), m, &api.MergeRequest{RIDs: []string{tea, heron}, Text: "Green tea and a heron"})
	done(merged, err)
	healthy("a merge")
	done(api.Split.Ask(t.Context(), m, &api.SplitRequest{RID: merged.RID, Texts: []string{"Green tea.", "A heron."}}))
	healthy("a split of it")
	done(api.Split.Ask(t.Context(), m, &api.SplitRequest{RID: intent("Otters swim and owls fly"), Texts: []string{"Otters swim.", "Owls fly."}}))
	healthy("a split")
	corrected := "An osprey dives"
	done(api.Correct.Ask(t.Context(), m, &api.CorrectRequest{RID: intent("A kestrel hovers"), Text: &corrected, Reason: "wrong"}))
	done(api.Forget.Ask(t.Context(), m, &api.ForgetRequest{RID: intent("Moss grows on the north wall"), Reason: "wrong"}))
	healthy("a correction and a forgetting")
	q := &api.EraseRequest{RIDs: []string{intent("Bob's address is Harbour Road 7")}}
	shown, err := api.Erase.Ask(t.Context(), m, q)
	done(shown, err)
	q.Confirm = shown.Confirm
	done(api.Erase.Ask(t.Context(), m, q))
	healthy("an erasure")
}

// TestVerifyAfterPurgingAllRows: after a purge of all audit rows, with a time far ahead, a memory that comes later and
// has no row is drift again.
func TestVerifyAfterPurgingAllRows(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	c.intent("remember tea")
	c.want("audit_purged", `{"kind":"purge_audit","before_ms":18446744073709551615}`)
	if v := c.want("verify_report", `{"kind":"verify"}`); v["orphans_total"] != 0.0 {
		t.Errorf("after the purge: %v", v)
	}
	purged := time.Now().UnixMilli()
	suite.Eventually(t, "a later time of the protocol", func() bool { return time.Now().UnixMilli() > purged })
	c.intent("remember coffee")
	d.cutAudit(0)
	if v := d.operator().want("verify_report", `{"kind":"verify"}`); v["orphans_total"] != 1.0 {
		t.Errorf("the later intent has no row: %v", v)
	}
}

// TestErasingNamesTheAuditLog: no erasure changes the audit log, which is a file of this node, nor an answer that
// quoted what is erased. The answer of one says so.
func TestErasingNamesTheAuditLog(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	q := &api.EraseRequest{RIDs: []string{c.intent("Bob's address is Harbour Road 7")["intent_id"].(string)}}
	row := c.lastAudit()
	c.intent("where is Bob's address")
	shown, err := api.Erase.Ask(t.Context(), d.cfg.Memory, q)
	if err != nil {
		t.Fatal(err)
	}
	q.Confirm = shown.Confirm
	erased, err := api.Erase.Ask(t.Context(), d.cfg.Memory, q)
	if err != nil {
		t.Fatal(err)
	}
	rec := c.records(`{"kind":"recent_memory"}`)[0]
	held := fmt.Sprint(erased.Held)
	if quoted := rec["metadata"].(object)["source_ids"]; fmt.Sprint(quoted) != fmt.Sprint(q.RIDs) || !strings.Contains(held, "source_ids") {
		t.Errorf("%v quotes %v, and the answer says %s", rec, quoted, held)
	}
	if row["intent_text"] != "Bob's address is Harbour Road 7" || !strings.Contains(held, "Covenant's audit log") {
		t.Errorf("the log has %v, and the answer says %s", row, held)
	}
}
