package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// planted creates texts that marked searches for.
type planted struct{ n int }

func (p *planted) next() string {
	p.n++
	return fmt.Sprintf("%s%04dkx", marker, p.n)
}

// plantMemories writes memories over the wire protocol in batches, to any node.
func plantMemories(t *testing.T, nodes []*cairntest.Node, token string, plant *planted, n int) {
	t.Helper()
	c := connect(t, nodes, token)
	for range n {
		m := wire.NewRemember("they say that " + plant.next() + " is so")
		m.IdempotencyKey = client.NewKey()
		if _, err := putUntilKnown(t.Context(), c, m); err != nil {
			t.Fatal(err)
		}
	}
}

// plantEverywhere stores texts in the cluster in every role that a text can have.
func plantEverywhere(t *testing.T, nodes []*cairntest.Node, token string, plant *planted) {
	t.Helper()
	do := func(ask func() error) { // repeats with other texts if leadership moves
		t.Helper()
		var err error
		if !suite.Within(suite.Patience, func() bool { err = ask(); return err == nil }) {
			t.Fatal(err)
		}
	}
	c := connect(t, nodes, token)
	remember := func() error {
		emotion := plant.next()
		m := wire.NewRemember("Captain " + plant.next() + " met " + plant.next())
		m.Metadata = wire.JSON(fmt.Sprintf(`{%q:%q}`, plant.next(), plant.next()))
		m.Namespace, m.Domain, m.EmotionalState, m.Speaker = plant.next(), plant.next(), &emotion, plant.next()
		m.SessionID, m.IdempotencyKey = plant.next(), plant.next()
		_, err := c.Remember(t.Context(), m)
		return err
	}
	for range 60 {
		do(remember)
	}
	for range 15 {
		do(func() error {
			_, err := c.Relate(t.Context(), wire.Relate{Entity: plant.next(), Target: plant.next(), Relationship: plant.next(), Weight: 1})
			return err
		})
		do(func() error {
			_, err := c.Claim(t.Context(),
				wire.Claim{Src: plant.next(), RelType: plant.next(), Dst: plant.next(), Namespace: plant.next(), Polarity: 1,
					Modality: "asserted", Extractor: plant.next(), ConfidenceBand: "high"})
			return err
		})
		do(func() error {
			_, err := c.Alias(t.Context(),
				wire.Alias{Alias: plant.next(), CanonicalName: plant.next(), Namespace: plant.next(), Source: "explicit"})
			return err
		})
		do(func() error {
			_, err := c.StartSession(t.Context(),
				wire.SessionStart{Namespace: plant.next(), ClientID: plant.next(), SessionID: plant.next()})
			return err
		})
	}
	do(func() error { _, err := c.CreateDatabase(t.Context(), plant.next()); return err })
	do(func() error {
		_, _, err := c.Recall(t.Context(), wire.Recall{Query: plant.next(), TopK: 3})
		return err
	})
	for _, p := range nodes[:2] {
		plantLocally(t, p, plant)
	}
}

// plantLocally stores texts through the surfaces for clients on the node's own host.
func plantLocally(t *testing.T, p *cairntest.Node, plant *planted) {
	t.Helper()
	socket := siftOpenAt(t, p.Line.Home, shortDir(t))
	for range 8 {
		siftDo(t, socket, fmt.Sprintf(`{"kind":"capture","sessionId":%q,"tool":"Notification","payload":{"message":"note %s","x":%q}}`,
			plant.next(), plant.next(), plant.next()))
	}
	if got, _ := stringPost(t, p, "/agents", `{"agent_id":"e2e"}`); !strings.Contains(got, "e2e") {
		t.Fatalf("register: %s", got)
	}
	for range 8 {
		stringDo(t, p, "/remember the note "+plant.next()+" --ns "+plant.next())
		if got, ok := stringPost(t, p, "/exec", fmt.Sprintf(`{"cmd":"echo %s >/dev/null","topic":"bash:x"}`, plant.next())); !ok {
			t.Fatalf("shell: %s", got)
		}
		hook(t, p, "an event says "+plant.next())
	}
	cov := covenantOf(t, p)
	for _, action := range []string{"a2a.send.user@local", "a2a.respond.user@local"} {
		covenantAsked[json.RawMessage](t, cov, map[string]any{"kind": "grant_capability", "action": action})
	}
	held := covenantAsked[struct {
		Capabilities []struct {
			Capability struct{ Subject map[string]string }
		}
	}](t, cov, map[string]any{"kind": "recent_capabilities"})
	self := held.Capabilities[0].Capability.Subject
	for range 8 {
		covenantAsked[json.RawMessage](t, cov, map[string]any{"kind": "submit_intent", "text": "remember that " + plant.next()})
		id := uuid.NewString()
		covenantAsked[json.RawMessage](t, cov,
			map[string]any{"kind": "send_a2_a_task",
				"task": map[string]any{"id": id, "sender": self, "recipient": self, "intent_text": plant.next(), "task_kind": plant.next(),
					"idempotency": map[string]any{"duplicate_safety": "idempotent", "key": plant.next()}}})
		covenantAsked[json.RawMessage](t, cov, map[string]any{"kind": "try_recv_a2_a_task"})
		covenantAsked[json.RawMessage](t, cov,
			map[string]any{"kind": "post_a2_a_result",
				"result": map[string]any{"task_id": id, "status": "ok",
					"content": []any{map[string]any{"type": "text", "text": plant.next()}}}})
	}
	if v := covenantAsked[json.RawMessage](t, cov, map[string]any{"kind": "verify_audit_integrity"}); !bytes.Contains(v, []byte(`"valid":true`)) {
		t.Errorf("the event file and its hash chain do not match: %s", v)
	}
}

// hook posts a text to an agent's webhook.
func hook(t *testing.T, p *cairntest.Node, text string) {
	t.Helper()
	res, err := http.Get(p.Line.String + "/agents/e2e/webhook")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var w map[string]any
	if err := json.NewDecoder(res.Body).Decode(&w); err != nil {
		t.Fatal(err)
	}
	at := ""
	for _, v := range w {
		if s, ok := v.(string); ok && strings.Contains(s, "/webhook/") {
			at = s[strings.Index(s, "/webhook/"):]
		}
	}
	post, err := http.Post(p.Line.String+at, "text/plain", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	post.Body.Close()
	if post.StatusCode != http.StatusAccepted {
		t.Fatalf("webhook of %v: %s", w, post.Status)
	}
}
