package sift

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
	"github.com/cairndb/cairn/wire/redact"
)

// An export consists of lines {"table":…,"row":…} with the names of the original daemon. Each answer lists a session
// before its first event, and each event before its summary. An import accepts such lines from this server and from
// the original daemon.

const (
	maxExportBytes   = 4 << 20 // of lines in an answer; they fit a frame even after escaping them twice
	maxExportPayload = 1 << 20 // events with a larger payload are omitted and counted
)

// export returns the events and summaries of a workspace as lines. Without a cursor, all lines must fit one answer.
// With a cursor (0 in the first request), an answer has as many lines as fit, and the next cursor.
func export(ctx context.Context, c *call) (any, error) {
	from, chunked, err := c.number("cursor")
	if err != nil || from < 0 || from >= 1<<53 || from != math.Trunc(from) {
		return nil, badRequest("export: cursor must be that of the answer before, or 0")
	}
	var lines bytes.Buffer
	records, omitted, next, sessions := 0, 0, oplog.Seq(from), map[string]bool{}
	for more := true; more; {
		page, err := api.Captures.Ask(ctx, c.s.cfg.Memory, &api.CapturesRequest{Workspace: c.ns, From: next, Payloads: maxExportBytes})
		if err != nil {
			return nil, err
		}
		next, more = page.Next, page.Next != 0
		for _, x := range page.Captures {
			text, err := decodePayload(x.Event)
			if err != nil {
				return nil, err
			}
			if x.Event.Payload == nil || len(text) > maxExportPayload {
				omitted++
				continue
			}
			rows, err := exportLines(x, text, !sessions[x.Event.Session])
			if err != nil {
				return nil, err
			}
			if len(rows) > maxExportBytes { // escaping has enlarged its payload
				omitted++
				continue
			}
			if lines.Len()+len(rows) > maxExportBytes {
				next, more = x.Seq, false
				break
			}
			lines.Write(rows)
			sessions[x.Event.Session] = true
			records += bytes.Count(rows, []byte{'\n'})
		}
	}
	if next != 0 && !chunked {
		return nil, badRequest("export: the workspace does not fit one answer; ask with cursor 0, then with the cursor of each answer until it is done")
	}
	text := string(bytes.TrimSuffix(lines.Bytes(), []byte{'\n'}))
	a := kit.Object{"records", records, "omitted", omitted, "done", next == 0}
	if !chunked {
		return append(a, "ndjson", text), nil
	}
	return append(a, "chunk", text, "cursor", next), nil
}

// exportLines returns the lines of an event and its summary, preceded by that of its session if first is set.
func exportLines(x api.CapturedMemory, payload []byte, first bool) (lines []byte, err error) {
	add := func(table string, row kit.Object) {
		b, jsonErr := kit.JSON(kit.Object{"table", table, "row", row})
		if jsonErr != nil {
			err = jsonErr
		}
		lines = append(append(lines, b...), '\n')
	}
	e, ms := x.Event, func(t oplog.Time) any {
		if t == 0 {
			return nil
		}
		return int64(t) / 1000
	}
	if first {
		add("sessions", kit.Object{"id", e.Session, "started_at", ms(e.At), "cwd", e.Dir})
	}
	add("events", kit.Object{"id", e.ID, "ts", ms(e.At), "session_id", e.Session, "tool", e.Tool, "input_hash",
		hex.EncodeToString(e.Hash), "payload_json", string(payload),
		"status", e.Status.String(), "tokens_est", e.Tokens, "expires_at", ms(x.Expires)})
	r := makeRow(api.Kept{Memory: x.Memory, Event: e.ID})
	pinned := any(nil)
	if x.Pin {
		pinned = ms(x.Updated)
	}
	add("summaries", kit.Object{"id", r.ID, "event_id", e.ID, "ts", r.TS, "model", r.Model, "prompt_hash", r.PromptHash,
		"text", r.Text, "tokens_in", r.TokensIn, "tokens_out", r.TokensOut,
		"confidence", r.Confidence, "pinned_at", pinned})
	return lines, err
}

// exportedLine is a decoded line of an export.
type exportedLine struct {
	Table string `json:"table"`
	Row   struct {
		ID      json.RawMessage `json:"id"` // a number; a string for a session
		EventID json.RawMessage `json:"event_id"`
		TS      float64         `json:"ts"`
		Session string          `json:"session_id"`
		Tool    string          `json:"tool"`
		Payload string          `json:"payload_json"`
		Expires *float64        `json:"expires_at"`
		Model   string          `json:"model"`
		Prompt  string          `json:"prompt_hash"`
		Text    string          `json:"text"`
		Certain *float64        `json:"confidence"`
		HostIn  *uint64         `json:"tokens_in"`
		HostOut *uint64         `json:"tokens_out"`
	} `json:"row"`
}

// recordedSummary is a summary by a model, from an import.
type recordedSummary struct {
	by, prompt, text string
	confidence       float64
	in, out          *uint64
}

// importLines captures the events of an export, with the summaries that models wrote. Events that are stored already
// are skipped, so an import may be repeated.
func importLines(ctx context.Context, c *call) (any, error) {
	text, ok := c.text("ndjson")
	if !ok {
		return nil, badRequest("import: ndjson required")
	}
	r := &backfillRun{}
	skipped, events, texts := 0, []exportedLine{}, map[string]*recordedSummary{}
	err := c.s.large.Decode(ctx, c.size, func() error {
		for line := range bytes.Lines([]byte(text)) {
			var x exportedLine
			switch {
			case len(bytes.TrimSpace(line)) == 0:
			case json.Unmarshal(line, &x) != nil:
				r.fail(badRequest("a line is no row of an export"))
			case x.Table == "events":
				events = append(events, x)
			case x.Table == "summaries" && x.Row.Model != model && x.Row.Text != "" && len(x.Row.Text) <= maxRecorded &&
				len(x.Row.Model) <= maxName && len(x.Row.Prompt) <= maxName:
				t := &recordedSummary{redact.String(x.Row.Model), x.Row.Prompt, redact.String(x.Row.Text), 0.8, x.Row.HostIn, x.Row.HostOut}
				if n := x.Row.Certain; n != nil {
					t.confidence = max(0, min(*n, 1))
				}
				texts[string(x.Row.EventID)] = t
				skipped++
			default:
				skipped++ // sessions follow from events, and the embedder makes vectors
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b := &batch{c: c, r: r}
	for _, x := range events {
		h := toolOutput{Said: api.Said{Session: x.Row.Session, Tool: x.Row.Tool}, at: oplog.Time(x.Row.TS) * 1000,
			recorded: texts[string(x.Row.ID)]}
		h.Payload, err = large.JSON([]byte(x.Row.Payload))
		if err != nil || h.Session == "" || h.Tool == "" || !(x.Row.TS >= 0 && x.Row.TS <= maxTimeMs) {
			r.fail(badRequest("an event lacks its session, tool, time or payload"))
			continue
		}
		h.unwrap()
		if x.Row.Expires != nil && *x.Row.Expires > 0 && *x.Row.Expires <= maxTimeMs {
			h.expires = oplog.Time(*x.Row.Expires) * 1000
		}
		if err := b.add(ctx, h, len(x.Row.Payload)); err != nil {
			return nil, err
		}
	}
	if err := b.flush(ctx); err != nil {
		return nil, err
	}
	t, _ := r.snapshot()
	return kit.Object{"inserted", t.Captured, "skipped", skipped + t.SkippedDuplicate, "errors", t.Errors}, nil
}

// unwrap undoes encodePayload, so that the hash is that of the original event.
func (h *toolOutput) unwrap() {
	fields, ok := h.Payload.(map[string]any)
	if !ok {
		return
	}
	h.Source, _ = fields["_source"].(string)
	delete(fields, "_source")
	if inner, ok := fields["value"]; ok && len(fields) == 1 {
		if _, object := inner.(map[string]any); !object { // an object is never wrapped: it was a member of the payload
			h.Payload = inner
		}
	}
}
