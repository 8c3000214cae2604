package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/oplog/suite"
)

func covenantOf(t testing.TB, p *cairntest.Node) *covenant.Client {
	t.Helper()
	if p.Line.Covenant == "" {
		t.Fatal("the node serves no Covenant socket")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for all requests on this connection
	t.Cleanup(cancel)
	c, err := covenant.Dial(ctx, filepath.Dir(p.Line.Covenant))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func covenantAsks[T any](c *covenant.Client, request map[string]any) (v T, err error) {
	err = c.Call(request, func(b json.RawMessage) error { return json.Unmarshal(b, &v) })
	return v, err
}

func covenantAsked[T any](t testing.TB, c *covenant.Client, request map[string]any) T {
	t.Helper()
	v, err := covenantAsks[T](c, request)
	if err != nil {
		t.Fatalf("%v: %v", request["kind"], err)
	}
	return v
}

type covenantRecords struct {
	Records []struct {
		ID, Text string
		Metadata json.RawMessage
		Owner    struct{ Display, Pubkey string }
	}
}

func TestCovenantFromTheShell(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	_, home := cairntest.StartDev(t)
	run := func(want int, args ...string) string {
		t.Helper()
		out, code := cairntest.Run(t, append([]string{"covenant", "--home", home}, args...)...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d", args, code, want)
		}
		return out
	}
	call := func(want int, kind string, fields ...string) string {
		t.Helper()
		return run(want, append([]string{"call", kind}, fields...)...)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"intent", "remember", "tea"}, "phase 0 echo (no agent matched): remember tea\n"},
		{[]string{"verify", "--window", "5"}, "ok memory ↔ audit: 0 memory orphan(s), 0 audit orphan(s)\n"},
	} {
		if got := run(0, c.args...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	if got := run(0, "search", "tea", "-n", "1", "--tier", "working"); !strings.Contains(got, "] working: ") {
		t.Errorf("search: %q", got)
	}
	for kind, want := range map[string]string{"ping": `"kind": "pong"`, "verify_audit_integrity": `"valid": true`,
		"list_tools": `"name": "clock"`, "list_peers": `"user@local"`} {
		if got := call(0, kind); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", kind, got, want)
		}
	}
	if got := call(0, "ignore_check", `{"text": "src/.env"}`); !strings.Contains(got, `"ignored": true`) {
		t.Errorf("ignore_check: %q", got)
	}
	enrolled := strings.Fields(run(0, "enroll", "bob@local", "memory.read"))
	for _, want := range []string{`"revoked"`, `"already_revoked"`} {
		if got := call(0, "revoke_peer", fmt.Sprintf(`{"token_prefix": %q}`, enrolled[len(enrolled)-1])); !strings.Contains(got, want) {
			t.Errorf("revoke_peer: %q, want %q in it", got, want)
		}
	}
	sig := strings.Fields(run(0, "grant", "tool.call.echo", "--expires-at", "99999999999999"))
	if got := call(0, "call_tool", `{"name": "echo", "arguments": {"text": "<hi>"}}`); !strings.Contains(got, "<hi>") {
		t.Errorf("echo: %q", got)
	}
	for _, want := range []string{`"removed": true`, `"removed": false`} {
		if got := call(0, "revoke_capability", fmt.Sprintf(`{"signature_b58": %q}`, sig[len(sig)-1])); !strings.Contains(got, want) {
			t.Errorf("revoke: %q, want %q in it", got, want)
		}
	}
	var v struct{ Kind string }
	if err := json.Unmarshal([]byte(run(0, "search", "tea", "--json")), &v); err != nil || v.Kind != "memories" {
		t.Errorf("search --json: %+v, %v", v, err)
	}
	call(1, "call_tool", `{"name": "clock"}`)
	call(1, "no_such_kind")
	call(2, "recent_memory", "[]")
	call(2, "recent_memory", "null")
	run(1, "search", "tea", "--tier", "short")
	run(2, "nonsense")
	run(1, "--covenant-home", "/nowhere", "call", "ping")
}

// TestCovenantSurvivesAKill kills a node under load, and checks that it has every acknowledged event once, that the
// hash chain is valid, and that leases are kept.
func TestCovenantSurvivesAKill(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, _ := cairntest.StartDev(t)
	c := covenantOf(t, p)
	covenantAsked[any](t, c, map[string]any{"kind": "submit_intent", "text": "who am I"})
	o := covenantAsked[covenantRecords](t, c, map[string]any{"kind": "recent_memory"}).Records[0].Owner
	agent := map[string]string{"display": o.Display, "pubkey": o.Pubkey}
	covenantAsked[any](t, c, map[string]any{"kind": "grant_capability", "action": "a2a.send." + o.Display})
	task := uuid.NewString()
	covenantAsked[any](t, c,
		map[string]any{"kind": "send_a2_a_task",
			"task": map[string]any{"id": task, "sender": agent, "recipient": agent, "intent_text": "x"}})
	covenantAsked[any](t, c, map[string]any{"kind": "try_recv_a2_a_task"})

	var mu sync.Mutex
	acked := map[string]string{}
	var wg sync.WaitGroup
	for w := range 8 {
		wc := covenantOf(t, p)
		wg.Go(func() {
			for i := 0; ; i++ {
				v, err := covenantAsks[struct {
					ID   string `json:"intent_id"`
					Text string
				}](wc, map[string]any{"kind": "submit_intent", "text": fmt.Sprintf("w%dn%d", w, i)})
				if err != nil {
					return // the kill
				}
				mu.Lock()
				acked[v.ID] = v.Text
				mu.Unlock()
			}
		})
	}
	waitForWrites(t, &mu, acked, 200)
	p.Kill()
	wg.Wait()
	p.Launch()()
	c = covenantOf(t, p)
	seen := map[string]int{}
	for _, r := range covenantAsked[covenantRecords](t, c, map[string]any{"kind": "recent_memory", "limit": 1_000_000}).Records {
		seen[r.ID]++
		if want, ok := acked[r.ID]; ok && r.Text != want {
			t.Errorf("%s is %q, was acknowledged as %q", r.ID, r.Text, want)
		}
	}
	for id := range acked {
		if seen[id] != 1 {
			t.Errorf("acknowledged intent %s is there %d times", id, seen[id])
		}
	}
	if extra := len(seen) - len(acked); extra > 1+8 { // at most one unacknowledged event for each worker
		t.Errorf("%d memories nobody covenantAsked for", extra-1)
	}
	if r := covenantAsked[struct {
		Report struct {
			Valid    bool
			Failures []string
		}
	}](t, c, map[string]any{"kind": "verify_audit_integrity"}); !r.Report.Valid {
		t.Errorf("audit chain: %v", r.Report.Failures)
	}
	q := covenantAsked[struct {
		Tasks []struct {
			State string
			Task  struct{ ID string }
		}
	}](t, c, map[string]any{"kind": "a2_a_queue"})
	if len(q.Tasks) != 1 || q.Tasks[0].State != "in_flight" || q.Tasks[0].Task.ID != task {
		t.Errorf("leases after the kill: %+v", q)
	}
	v := covenantAsked[struct {
		Drift []struct{ Kind, ID string }
	}](t, c, map[string]any{"kind": "verify", "window": 1_000_000})
	for _, d := range v.Drift {
		if _, ok := acked[d.ID]; ok {
			t.Errorf("drift of an acknowledged intent: %+v", d)
		}
	}
	t.Logf("%d intents acknowledged before the kill", len(acked))
}

// secretForms lists patterns of secrets around a core, which must not appear anywhere.
var secretForms = []string{"ghp_%sAAAA", "password=%s", `{"api_key": "%s"}`, "Authorization: Bearer %s",
	"export DB_PASSWORD='%s'", "postgres://app:%s@db/app",
	"sk-ant-%s", "curl -u admin:%s https://x", "--token %s", "<private>%s</private>", "github_pat_%s", "sk-proj-%s",
	"xoxb-12345-%s", "sk_live_%s", "gho_%s",
	"secret: %s", "-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----", "AWS_SECRET_ACCESS_KEY=%s",
	"Authorization: Basic %s", "eyJ%s.eyJ%s.c2ln"}

// secretPlaces lists texts that contain a secret.
var secretPlaces = []string{"%s", "note: %s", "%s and more", "a\nb\n%s\nc", "(%s)", "x %s, y %[1]s", "é %s é",
	"first; %s; last", "\t%s\t", "1. %s\n2. done"}

// TestCovenantKeepsNoSecrets sends secrets in two hundred forms in intents, and in tasks between agents and their
// answers, and searches every file, the log and the answers for them.
func TestCovenantKeepsNoSecrets(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	p, home := cairntest.StartDev(t)
	c := covenantOf(t, p)
	for _, action := range []string{"a2a.send.user@local", "a2a.respond.user@local"} {
		covenantAsked[json.RawMessage](t, c, map[string]any{"kind": "grant_capability", "action": action})
	}
	held := covenantAsked[struct {
		Capabilities []struct {
			Capability struct{ Subject map[string]string }
		}
	}](t, c, map[string]any{"kind": "recent_capabilities"})
	self := held.Capabilities[0].Capability.Subject
	var cores [][]byte
	var output bytes.Buffer
	ask := func(request map[string]any) {
		t.Helper()
		answer := covenantAsked[json.RawMessage](t, c, request)
		if bytes.Contains(answer, []byte(`"kind":"error"`)) {
			t.Fatalf("%v: %s", request["kind"], answer)
		}
		output.Write(answer)
	}
	for i, form := range secretForms {
		for k, place := range secretPlaces {
			core := fmt.Sprintf("%03dQx7VbN2kLpZ4rTyW8sDfGhJ5mCeA9uIo", 10*i+k)
			cores = append(cores, []byte(core))
			text := fmt.Sprintf(place, strings.ReplaceAll(form, "%s", core))
			ask(map[string]any{"kind": "submit_intent", "text": text})
			id := uuid.NewString()
			ask(map[string]any{"kind": "send_a2_a_task",
				"task": map[string]any{"id": id, "sender": self, "recipient": self, "intent_text": text, "task_kind": text,
					"idempotency": map[string]any{"duplicate_safety": "idempotent", "key": text}}})
			ask(map[string]any{"kind": "try_recv_a2_a_task"})
			ask(map[string]any{"kind": "post_a2_a_result", "result": map[string]any{"task_id": id, "status": "ok", "error_message": text,
				"content": []any{map[string]any{"type": "text", "text": text},
					map[string]any{"type": "json", "value": map[string]any{"deep": []any{text, 1}, text: nil, "password": core}}}}})
			ask(map[string]any{"kind": "a2_a_queue"})
			ask(map[string]any{"kind": "try_recv_a2_a_result"})
		}
	}
	ask(map[string]any{"kind": "recent_memory", "limit": 1000})
	ask(map[string]any{"kind": "recent_audit", "limit": 10_000})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(output.Bytes(), []byte("[REDACTED")); n < 5*len(cores) {
		t.Errorf("%d masks in what was answered", n)
	}
	look := func(name string, b []byte) {
		for i, core := range cores {
			if bytes.Contains(b, core) {
				t.Errorf("secret %d is in %s", i, name)
			}
		}
	}
	look("the answers", output.Bytes())
	look("the log", p.Log.Bytes())
	files := 0
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		look(path, b)
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files looked at: %v", files, err)
	}
}
