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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for all that is asked on this connection
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
	if testing.Short() {
		t.Skip("skipped in -short: a hundred commands, each a process")
	}
	_, home := cairntest.StartDev(t)
	run := func(want int, args ...string) string {
		t.Helper()
		out, code := cairntest.Run(t, append([]string{"covenant", "--home", home}, args...)...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d", args, code, want)
		}
		return out
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ping"}, "pong\n"},
		{[]string{"version"}, "covenant.ipc 1 (up to 2)\n"},
		{[]string{"receipts", "recent"}, "(no receipts)\n"},
		{[]string{"intent", "remember", "tea"}, "phase 0 echo (no agent matched): remember tea\n"},
		{[]string{"intent", "--stream", "coffee"}, "phase 0 echo (no agent matched): coffee\n"},
		{[]string{"ignore", "check", "src/.env"}, "ignored: true (**/.env; 12 rules)\n"},
		{[]string{"tools", "list"}, "clock — Returns the current Unix time in milliseconds.\n"},
		{[]string{"a2a", "status"}, ""},
		{[]string{"verify", "--window", "5"}, "ok memory ↔ audit: 0 memory orphan(s), 0 audit orphan(s)\n"},
		{[]string{"capabilities", "purge", "--older-than-ms", "5"}, "purged 0\n"},
		{[]string{"peers", "purge", "--before-ms", "1"}, "purged 0\n"},
		{[]string{"audit", "purge", "--before-ms", "1"}, "purged 0\n"},
	} {
		if got := run(0, c.args...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
	for _, c := range [][2]string{{"memory recent -n 1", "] working: "}, {"memory search tea", "] working: "}, {"receipts recent", "] memory: 1 credits — (local-only)"},
		{"capabilities recent", "user@local → memory.read (user@local) [perpetual]"}, {"audit recent", "intent_dispatched"}, {"audit verify", "valid: true"}, {"peers list", "user@local"}} {
		if got := run(0, strings.Fields(c[0])...); !strings.Contains(got, c[1]) {
			t.Errorf("%s: %q, want %q in it", c[0], got, c[1])
		}
	}
	enrolled := strings.Fields(run(0, "peers", "enroll", "bob@local", "memory.read"))
	for _, want := range []string{"revoked\n", "it was revoked before\n"} {
		if got := run(0, "peers", "revoke", enrolled[len(enrolled)-1]); got != want {
			t.Errorf("peers revoke: %q, want %q", got, want)
		}
	}
	sig := strings.Fields(run(0, "capabilities", "grant", "tool.call.echo"))
	if got := run(0, "tools", "call", "echo", `{"text":"<hi>"}`); got != "<hi>\n" {
		t.Errorf("echo: %q", got)
	}
	for _, want := range []string{"revoked\n", "(no live capability with that signature)\n"} {
		if got := run(0, "capabilities", "revoke", sig[len(sig)-1]); got != want {
			t.Errorf("revoke: %q, want %q", got, want)
		}
	}
	for cmd, kind := range map[string]string{"ping": "daemon_ping", "receipts recent": "receipt_list", "capabilities recent": "capability_list", "peers list": "peer_list",
		"a2a status": "a2a_status", "memory recent": "memories", "peers rotate": "peer_token_rotated", "memory purge --before-ms 1": "memory_purged"} {
		var v struct {
			Kind   string
			Before uint64 `json:"before_ms"`
		}
		if err := json.Unmarshal([]byte(run(0, append(strings.Fields(cmd), "--json")...)), &v); err != nil || v.Kind != kind || strings.Contains(cmd, "purge") && v.Before != 1 {
			t.Errorf("%s --json: %+v, %v; want kind %s", cmd, v, err, kind)
		}
	}
	run(1, "tools", "call", "clock")
	run(2, "memory", "purge")
	run(2, "memory", "recent", "--tier", "short")
	run(2, "nonsense")
	run(1, "--covenant-home", "/nowhere", "ping")
}

// TestCovenantSurvivesAKill kills a node under load: what was acknowledged is there once, the chain holds, leases stay.
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
	covenantAsked[any](t, c, map[string]any{"kind": "send_a2_a_task", "task": map[string]any{"id": task, "sender": agent, "recipient": agent, "intent_text": "x"}})
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
	if extra := len(seen) - len(acked); extra > 1+8 { // at most one a worker was on its way
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

// secretForms are what secrets look like, each around a core that must be seen nowhere.
var secretForms = []string{"ghp_%sAAAA", "password=%s", `{"api_key": "%s"}`, "Authorization: Bearer %s", "export DB_PASSWORD='%s'", "postgres://app:%s@db/app",
	"sk-ant-%s", "curl -u admin:%s https://x", "--token %s", "<private>%s</private>", "github_pat_%s", "sk-proj-%s", "xoxb-12345-%s", "sk_live_%s", "gho_%s",
	"secret: %s", "-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----", "AWS_SECRET_ACCESS_KEY=%s", "Authorization: Basic %s", "eyJ%s.eyJ%s.c2ln"}

// secretPlaces are where they stand.
var secretPlaces = []string{"%s", "note: %s", "%s and more", "a\nb\n%s\nc", "(%s)", "x %s, y %[1]s", "é %s é", "first; %s; last", "\t%s\t", "1. %s\n2. done"}

// TestCovenantKeepsNoSecrets plants secrets in two hundred shapes in intents, and in tasks between agents and what
// answers them, and looks for them in every file, in the log and in the answers.
func TestCovenantKeepsNoSecrets(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: changes or reads files of stopped nodes")
	}
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
	var said bytes.Buffer
	ask := func(request map[string]any) {
		t.Helper()
		answer := covenantAsked[json.RawMessage](t, c, request)
		if bytes.Contains(answer, []byte(`"kind":"error"`)) {
			t.Fatalf("%v: %s", request["kind"], answer)
		}
		said.Write(answer)
	}
	for i, form := range secretForms {
		for k, place := range secretPlaces {
			core := fmt.Sprintf("%03dQx7VbN2kLpZ4rTyW8sDfGhJ5mCeA9uIo", 10*i+k)
			cores = append(cores, []byte(core))
			text := fmt.Sprintf(place, strings.ReplaceAll(form, "%s", core))
			ask(map[string]any{"kind": "submit_intent", "text": text})
			id := uuid.NewString()
			ask(map[string]any{"kind": "send_a2_a_task", "task": map[string]any{"id": id, "sender": self, "recipient": self, "intent_text": text, "task_kind": text,
				"idempotency": map[string]any{"duplicate_safety": "idempotent", "key": text}}})
			ask(map[string]any{"kind": "try_recv_a2_a_task"})
			ask(map[string]any{"kind": "post_a2_a_result", "result": map[string]any{"task_id": id, "status": "ok", "error_message": text,
				"content": []any{map[string]any{"type": "text", "text": text}, map[string]any{"type": "json", "value": map[string]any{"deep": []any{text, 1}, text: nil, "password": core}}}}})
			ask(map[string]any{"kind": "a2_a_queue"})
			ask(map[string]any{"kind": "try_recv_a2_a_result"})
		}
	}
	ask(map[string]any{"kind": "recent_memory", "limit": 1000})
	ask(map[string]any{"kind": "recent_audit", "limit": 10_000})
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(said.Bytes(), []byte("[REDACTED")); n < 5*len(cores) {
		t.Errorf("%d masks in what was answered", n)
	}
	look := func(name string, b []byte) {
		for i, core := range cores {
			if bytes.Contains(b, core) {
				t.Errorf("secret %d is in %s", i, name)
			}
		}
	}
	look("the answers", said.Bytes())
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
