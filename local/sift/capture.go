package sift

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

// toolOutput is a tool call as the client sent it. It may contain secrets.
type toolOutput struct {
	api.Said
	at, expires oplog.Time
	recorded    *recordedSummary // the summary in an import; nil without one
}

// An observation is a toolOutput after the node has redacted it, with its encoded payload and hash.
type observation struct {
	toolOutput
	payloadJSON []byte // JSON of the payload, including its source
	hash        []byte
	tokens      uint64
}

const (
	maxName      = 512                          // of session and tool
	maxTimeMs    = 8.64e15                      // the largest time in JavaScript
	maxTTLMs     = 100 * 365 * 24 * 3600 * 1000 // of a capture, in milliseconds: a century
	compressOver = 1 << 10                      // larger payloads are stored compressed
)

// captured is the reply to a capture.
type captured struct {
	ID        oplog.EventID `json:"id"`
	TokensEst uint64        `json:"tokensEst"`
	SummaryID oplog.Seq     `json:"summaryId"`
	Duplicate bool          `json:"duplicate"`
	Redacted  []string      `json:"redacted,omitempty"` // kinds of the secrets that were removed
}

// capture stores an event and its summary as one entry of the log.
func capture(ctx context.Context, c *call) (any, error) {
	var h toolOutput
	err := c.s.large.Decode(ctx, c.size, func() (err error) {
		h, err = c.parseCapture()
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.cfg.CaptureTimeout+timeoutPerMiB*time.Duration(c.size>>20))
	defer cancel()
	return c.s.storeCapture(ctx, c, h)
}

// timeoutPerMiB is added to the timeout of a large capture, because it takes longer to redact and to replicate.
const timeoutPerMiB = 5 * time.Second

// parseCapture reads the request. It runs in the request's decoding turn, so it must not call c.text, which waits for
// another turn.
func (c *call) parseCapture() (h toolOutput, err error) {
	var ok bool
	if h.Session, ok = c.fields.Text("sessionId"); !ok || h.Session == "" {
		return h, badRequest("capture: sessionId required")
	}
	if h.Tool, ok = c.fields.Text("tool"); !ok || h.Tool == "" {
		return h, badRequest("capture: tool required")
	}
	raw, ok := c.fields["payload"]
	if !ok {
		return h, badRequest("capture: payload required")
	}
	ts, hasTime, err := c.number("ts")
	switch {
	case err != nil || hasTime && (ts < 0 || ts > maxTimeMs):
		return h, badRequest("capture: ts must be a finite number >= 0")
	case !hasTime:
		ts = float64(time.Now().UnixMilli())
	}
	ttl, hasTTL, err := c.number("ttlMs")
	if err != nil || hasTTL && !(ttl > 0) {
		return h, badRequest("capture: ttlMs must be a number > 0")
	}
	h.Source, _ = c.fields.Text("source")
	h.at = oplog.Time(math.Floor(ts)) * 1000
	if hasTTL {
		h.expires = h.at + oplog.Time(math.Ceil(min(ttl, maxTTLMs)))*1000
	}
	if h.Payload, err = large.JSON(raw); err != nil {
		return h, badRequest("capture: payload is not JSON")
	}
	return h, nil
}

// newObservation encodes and hashes the redacted output. The summary and the entry are made from its result only, so
// that they contain no secrets.
func (h toolOutput) newObservation(clean api.Said) (*observation, error) {
	h.Said = clean
	h.Source = cmp.Or(h.Source, "claude-code")
	if len(h.Session) > maxName || len(h.Tool) > maxName || len(h.Source) > maxName {
		return nil, badRequest("capture: sessionId, tool or source is too long")
	}
	fields, ok := h.Payload.(map[string]any)
	if !ok {
		fields = map[string]any{"value": h.Payload}
	}
	o := &observation{toolOutput: h}
	if err := o.encodePayload(fields); err != nil {
		return nil, badRequest("capture: payload is not JSON")
	}
	o.tokens = (utf16Len(o.payloadJSON) + 3) / 4
	return o, nil
}

// encodePayload encodes the payload as a JSON object with sorted keys, including its source. The hash does not cover
// the source, so that a backfilled copy and a live one with the same content are one event.
func (o *observation) encodePayload(fields map[string]any) error {
	fields = maps.Clone(fields)
	delete(fields, "_source")
	content, err := kit.JSON(fields)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	o.hash = sum[:]
	fields["_source"] = o.Source
	o.payloadJSON, err = kit.JSON(fields)
	return err
}

// utf16Len returns the length of a text in UTF-16 units, as JavaScript counts it.
func utf16Len(b []byte) (n uint64) {
	for len(b) > 0 { // a range over string(b) would copy it
		r, size := utf8.DecodeRune(b)
		n += uint64(utf16.RuneLen(r))
		b = b[size:]
	}
	return n
}

// storeCapture stores an event, or finds the stored event with the same content.
func (s *Server) storeCapture(ctx context.Context, c *call, h toolOutput) (stored captured, err error) {
	var o *observation
	result, err := api.Capture.Ask(ctx, s.cfg.Memory, &api.CaptureRequest{Said: []api.Said{h.Said},
		Turn: func(work func() error) error { return s.large.Decode(ctx, c.size, work) },
		Make: func(clean []api.Said) (_ []api.CapturedEvent, err error) {
			if o, err = h.newObservation(clean[0]); err != nil {
				return nil, err
			}
			if stored, err = s.lookUpEvent(ctx, c.ns, o); err != nil || stored.ID != 0 {
				return nil, err
			}
			return []api.CapturedEvent{c.event(o)}, nil
		}})
	if errors.Is(err, oplog.ErrEventKnown) { // another client was faster
		return s.lookUpEvent(ctx, c.ns, o)
	}
	if isRejected(err) { // by the prefix hooks know that they need not send it again
		err = badRequest("capture: " + s.publicError("capture", err).Error())
	}
	if err != nil {
		return captured{}, err
	}
	if stored.ID != 0 { // a retry of a failed capture: wait until searches find the event
		_, err = api.Await.Ask(ctx, s.cfg.Memory, &api.AwaitRequest{Found: true})
	} else {
		stored = captured{ID: result.IDs[0].Event, TokensEst: o.tokens, SummaryID: result.IDs[0].Summary}
	}
	stored.Redacted = result.Redacted
	return stored, err
}

// lookUpEvent finds the stored event of an observation. ID 0 means that there is none.
func (s *Server) lookUpEvent(ctx context.Context, ns string, o *observation) (stored captured, err error) {
	ids, err := s.knownEvents(ctx, ns, []*observation{o})
	if err == nil && ids[0].Event != 0 {
		stored = captured{ID: ids[0].Event, TokensEst: o.tokens, Duplicate: true, SummaryID: ids[0].Summary}
	}
	return stored, err
}

// knownEvents returns the ids of stored observations, and zero ids for the others.
func (s *Server) knownEvents(ctx context.Context, ns string, all []*observation) ([]api.CapturedIDs, error) {
	marks := api.Each(all, func(o *observation) api.EventMark { return api.EventMark{Session: o.Session, Hash: o.hash} })
	a, err := api.KnownEvents.Ask(ctx, s.cfg.Memory, &api.KnownEventsRequest{Workspace: ns, Marks: marks})
	if err != nil {
		return nil, err
	}
	return a.Events, nil
}

// event returns the event and the summary to store for an observation.
func (c *call) event(o *observation) api.CapturedEvent {
	sum := summarize(o)
	rid := oplog.NewID()
	from := origin{Tool: o.Tool, Session: o.Session, Source: o.Source, Hash: hex.EncodeToString(o.hash),
		TokensIn: o.tokens, Confidence: sum.confidence, Words: extraWords(o.Payload, sum.text), Symbols: symbolsOf(o.Payload)}
	if g := o.recorded; g != nil {
		from.Model, from.PromptHash, from.Confidence, from.HostIn, from.HostOut = g.by, g.prompt, g.confidence, g.in, g.out
		from.Words, sum = truncate(from.Words+" "+sum.text, 2*maxExtraWords), summary{g.text, g.confidence}
	}
	event := &oplog.Event{Workspace: c.ns, Session: o.Session, Tool: o.Tool, Source: o.Source, Hash: o.hash, Payload: o.payloadJSON,
		Tokens: o.tokens, Dir: c.w.Dir, At: o.at, Status: oplog.EventSummarized, Summary: rid}
	if len(o.payloadJSON) > compressOver {
		if z := encoder().EncodeAll(o.payloadJSON, nil); len(z) < len(o.payloadJSON) {
			event.Payload, event.Packed = z, true
		}
	}
	return api.CapturedEvent{Event: event, Summary: &oplog.Remember{Content: oplog.Content{RID: rid, Text: sum.text, Type: "episodic",
		Importance: 0.5, HalfLife: halfLife(o.Tool).Seconds(), Certainty: sum.confidence, Namespace: c.ns, Domain: "general",
		Source:   o.Source,
		Metadata: kit.MustJSON(kit.Object{"sift", from}), Session: o.Session, Created: o.at, Updated: oplog.At(time.Now()),
		Expires: o.expires}}}
}

// encoder is shared: EncodeAll may be called from any goroutine.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4),
		zstd.WithAllLitEntropyCompression(true)) // compresses text without repeats too: the largest request must fit an entry
	if err != nil {
		panic("sift: zstd writer: " + err.Error())
	}
	return e
})

// origin is the part of a summary's metadata that describes its event.
type origin struct {
	Tool       string  `json:"tool"`
	Session    string  `json:"session"`
	Source     string  `json:"source"`
	Hash       string  `json:"hash"`
	TokensIn   uint64  `json:"tokensIn"`
	Confidence float64 `json:"confidence"`
	Words      string  `json:"words,omitempty"` // words of the payload that the summary leaves out; indexed with it

	Symbols    []string `json:"symbols,omitempty"` // declared in the payload, as kind:name
	Model      string   `json:"model,omitempty"`   // the model that wrote the summary; empty for a summary by rules
	PromptHash string   `json:"promptHash,omitempty"`
	HostIn     *uint64  `json:"hostTokensIn,omitempty"` // tokens of the model, as the client counts them
	HostOut    *uint64  `json:"hostTokensOut,omitempty"`
}

// halfLife returns the half-life of a summary, by the tool of its event.
func halfLife(tool string) time.Duration {
	const day = 24 * time.Hour
	switch tool {
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return 30 * day
	case "Read":
		return 14 * day
	case "Grep":
		return 5 * day
	case "Bash":
		return 3 * day
	}
	return 7 * day
}
