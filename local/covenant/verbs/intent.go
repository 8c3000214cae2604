package verbs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/ignore"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/redact"
)

const (
	maxEvidence = 5
	maxQuote    = 1000 // characters
	maxIntent   = 1 << 20

	minEvidenceScore = 0.2 // lowest score of a quoted memory; several equal matches score about this much each
)

func submitIntent(f *serve.Fields) Action {
	text, streams := f.Text("text"), f.Flag("prefer_stream")
	return func(ctx context.Context, s *Session) (any, error) {
		if len(text) > maxIntent {
			return nil, fmt.Errorf("memory: text of %d bytes is over %d", len(text), maxIntent)
		}
		id := protocol.NewID()
		rules, err := ignore.Load(s.RulesPath())
		if err != nil {
			return nil, err
		}
		ignored, line := rules.Check(text)
		text := redact.String(text) // hides the text with secrets
		if ignored {
			return intentResult(id, "ignored", "ignored by .covenantignore rule: "+line, []string{}),
				s.record(kit.Object{"type", "intent_ignored", "intent_id", id, "intent_text", text, "matched_pattern", line})
		}
		answer, sources, err := s.answerIntent(ctx, id, text)
		if err != nil || !streams {
			return intentResult(id, "ok", answer, sources), err
		}
		return &protocol.Stream{Kind: "intent_result", Summary: kit.Object{"intent_id", id, "status", "ok", "settlement", nil},
			Chunks: func(emit func(any) (bool, error)) error {
				_, err := emit(kit.Object{"text", answer, "sources", sources, "runtime_events", []string{}})
				return err
			}}, nil
	}
}

// resumeIntent always fails. It would resume an intent that a budget has interrupted, but this server answers every
// intent at once.
func resumeIntent(f *serve.Fields) Action {
	id := protocol.ID(f, "intent_id")
	return func(context.Context, *Session) (any, error) {
		return nil, fmt.Errorf("intent: %s has no checkpoint to resume from", id)
	}
}

func intentResult(id, status, text string, sources []string) kit.Object {
	return kit.Object{"kind", "intent_result", "intent_id", id, "status", status, "text", text, "sources", sources, "settlement", nil}
}

// answerIntent answers an intent from memory and stores the answer.
func (s *Session) answerIntent(ctx context.Context, id, text string) (answer string, sources []string, err error) {
	at := time.Now()
	err = s.gate(ctx, gate{label: "memory:write", actions: []string{"memory.write"},
		missing: `intent dispatch requires capability "memory.write" because successful dispatch writes working memory.`,
		allows: func(sc scope) bool {
			return sc.allowsChange(true) && sc.allowsTier("working") && sc.allowsRecord(id, home.Millis(at))
		},
		reject: "memory write rejected by capability scope: tier or before_ms does not match capability scope"})
	if err != nil {
		return "", nil, err
	}
	if answer, sources, err = s.quoteEvidence(ctx, text); err != nil {
		return "", nil, home.StoreError("memory", err)
	}
	defer s.TrackInFlight(id)()
	if err := s.remember(ctx, id, text, answer, sources, at); err != nil {
		return "", nil, home.StoreError("memory", err)
	}
	hash := sha256.Sum256([]byte(answer))
	return answer, sources, s.record(kit.Object{"type", "intent_dispatched", "intent_id", id, "intent_text", text, "matched_agent", nil,
		"result_hash_hex", hex.EncodeToString(hash[:]), "status", "ok"})
}

// quoteEvidence answers a text with quotes from the session's own memories. It does not reinforce them.
func (s *Session) quoteEvidence(ctx context.Context, text string) (answer string, sources []string, err error) {
	found, err := s.search(ctx, text, "", []scope{readScope([]byte("{}"))}, 50, minEvidenceScore, false)
	if err != nil {
		return "", nil, err
	}
	sources = []string{}
	var b strings.Builder
	for _, r := range found {
		if len(sources) == maxEvidence {
			break
		}
		if intent, _ := intentOf(r.Metadata); intent.Derived {
			continue // never quote an answer that quotes others
		}
		if len(sources) > 0 {
			b.WriteByte('\n')
		}
		sources = append(sources, r.ID)
		fmt.Fprintf(&b, "[%d] %s", len(sources), api.OneLine(quote(r.Text)))
	}
	if len(sources) == 0 {
		return echoAnswer(text), sources, nil
	}
	return b.String(), sources, nil
}

func quote(s string) string {
	n := 0
	for at := range s {
		if n == maxQuote {
			return s[:at]
		}
		n++
	}
	return s
}

// intentMetadata is stored with an intent. The text of the memory is the client's sentence, which other dialects
// show. This dialect shows the answer (see displayed).
type intentMetadata struct {
	Text    string   `json:"intent_text"`
	Agent   *string  `json:"agent_id"`
	Status  string   `json:"status"`
	Origin  string   `json:"origin_node"`
	Derived bool     `json:"derived,omitempty"`
	Sources []string `json:"source_ids,omitempty"`
	Answer  string   `json:"answer,omitempty"` // empty for an echo
}

// intentOf decodes the intent in the metadata of a memory. It skips members of other types, which other protocols may
// write.
func intentOf(meta json.RawMessage) (intent intentMetadata, err error) {
	err = json.Unmarshal(meta, &intent)
	return intent, err
}

// echoAnswer returns the answer to an intent without evidence.
func echoAnswer(text string) string { return "phase 0 echo (no agent matched): " + text }

// displayed returns the text and the metadata of a memory as this protocol shows them. An intent shows its answer,
// unless its text was corrected since.
func displayed(m *oplog.Memory) (text string, meta json.RawMessage) {
	text, meta = m.Text, json.RawMessage(m.Metadata)
	if len(meta) == 0 || !json.Valid(meta) {
		meta = json.RawMessage("{}")
	}
	intent, err := intentOf(meta)
	if m.Namespace != oplog.CovenantNamespace || err != nil || intent.Status != "ok" || intent.Text != m.Text || intent.Text == "" {
		return text, meta
	}
	if text = intent.Answer; text == "" {
		return echoAnswer(intent.Text), meta
	}
	return text, withMember(meta, "answer", nil)
}

// remember stores an intent, its answer and its receipt as one entry.
func (s *Session) remember(ctx context.Context, id, text, answer string, sources []string, at time.Time) error {
	intent := intentMetadata{Text: text, Status: "ok", Origin: s.Origin(), Derived: len(sources) > 0, Sources: sources}
	if intent.Derived {
		intent.Answer = answer
	}
	if text == "" {
		text = answer // a memory needs a text
	}
	t := oplog.At(at)
	_, err := home.Write(ctx, s.Home, api.KeepIntent, &api.KeepIntentRequest{Key: "covenant/" + id,
		Memory: &oplog.Remember{Content: oplog.Content{RID: id, Text: text, Type: "episodic", Namespace: oplog.CovenantNamespace,
			Tier: "working", Owner: s.Peer.Pubkey, Source: "covenant", Metadata: kit.MustJSON(intent), Created: t}},
		Receipt: &oplog.Receipt{ID: protocol.NewID(), Payer: s.Peer.Pubkey, Resource: "memory", Memory: id,
			Credits: credits(answer), At: t}})
	return err
}

// credits returns the cost of a text: one credit for each started KiB.
func credits(text string) uint64 { return max(1, (uint64(len(text))+1023)/1024) }

func ignoreCheck(f *serve.Fields) Action {
	text := f.Text("text")
	return func(_ context.Context, s *Session) (any, error) {
		rules, err := ignore.Load(s.RulesPath())
		ignored, line := rules.Check(text)
		return kit.Object{"kind", "ignore_report", "ignored", ignored, "matched_pattern", orNull(line), "rules_loaded", len(rules)}, err
	}
}
