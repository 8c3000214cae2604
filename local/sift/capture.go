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

// heard holds a tool's output, as it came in.
type heard struct {
	api.Said
	at, expires oplog.Time
	given       *recorded // its summary, when it came with one
}

// An observation is what was heard, from which the node has taken the secrets, and what is made of it.
type observation struct {
	heard
	stamped []byte // JSON of the payload with its source
	hash    []byte
	tokens  uint64
}

const (
	maxName = 512                          // of session and tool
	maxMs   = 8.64e15                      // the largest time JavaScript knows
	maxTTL  = 100 * 365 * 24 * 3600 * 1000 // of a capture, in milliseconds: a century
	packed  = 1 << 10                      // payloads over this are stored compressed
)

// captured is the reply to a capture.
type captured struct {
	ID        oplog.EventID `json:"id"`
	TokensEst uint64        `json:"tokensEst"`
	SummaryID oplog.Seq     `json:"summaryId"`
	Duplicate bool          `json:"duplicate"`
	Redacted  []string      `json:"redacted,omitempty"` // kinds of secrets that were taken out
}

// capture stores what a tool did, and its summary, in one entry.
func capture(ctx context.Context, c *call) (any, error) {
	var h heard
	err := c.s.large.Decode(ctx, c.size, func() (err error) {
		h, err = c.heard()
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.cfg.Patience+perMebibyte*time.Duration(c.size>>20))
	defer cancel()
	return c.s.store(ctx, c, h)
}

// perMebibyte is added to the time of a large write, which is searched for secrets and travels while it runs.
const perMebibyte = 5 * time.Second

// heard reads the request. It runs in the request's turn, and c.text would wait for another one.
func (c *call) heard() (h heard, err error) {
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
	ts, there, err := c.number("ts")
	switch {
	case err != nil || there && (ts < 0 || ts > maxMs):
		return h, badRequest("capture: ts must be a finite number >= 0")
	case !there:
		ts = float64(time.Now().UnixMilli())
	}
	ttl, lasts, err := c.number("ttlMs")
	if err != nil || lasts && !(ttl > 0) {
		return h, badRequest("capture: ttlMs must be a number > 0")
	}
	h.Source, _ = c.fields.Text("source")
	h.at = oplog.Time(math.Floor(ts)) * 1000
	if lasts {
		h.expires = h.at + oplog.Time(math.Ceil(min(ttl, maxTTL)))*1000
	}
	if h.Payload, err = large.JSON(raw); err != nil {
		return h, badRequest("capture: payload is not JSON")
	}
	return h, nil
}

// observe stamps and hashes what was heard, redacted. Summary, entry and log see its result alone.
func (h heard) observe(clean api.Said) (*observation, error) {
	h.Said = clean
	h.Source = cmp.Or(h.Source, "claude-code")
	if len(h.Session) > maxName || len(h.Tool) > maxName || len(h.Source) > maxName {
		return nil, badRequest("capture: sessionId, tool or source is too long")
	}
	fields, ok := h.Payload.(map[string]any)
	if !ok {
		fields = map[string]any{"value": h.Payload}
	}
	o := &observation{heard: h}
	if err := o.stamp(fields); err != nil {
		return nil, badRequest("capture: payload is not JSON")
	}
	o.tokens = (utf16Len(o.stamped) + 3) / 4
	return o, nil
}

// stamp writes the payload's fields as one JSON object, in the order of their names, with its source among them. The
// source is not part of the hashed bytes: a backfilled copy and a live one with the same content are one event.
func (o *observation) stamp(fields map[string]any) error {
	fields = maps.Clone(fields)
	delete(fields, "_source")
	content, err := kit.JSON(fields)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	o.hash = sum[:]
	fields["_source"] = o.Source
	o.stamped, err = kit.JSON(fields)
	return err
}

// utf16Len is a text's length as JavaScript counts it.
func utf16Len(b []byte) (n uint64) {
	for len(b) > 0 { // a range over string(b) would copy it
		r, size := utf8.DecodeRune(b)
		n += uint64(utf16.RuneLen(r))
		b = b[size:]
	}
	return n
}

// store has what a tool said kept, or finds the event that it is.
func (s *Server) store(ctx context.Context, c *call, h heard) (have captured, err error) {
	var o *observation
	made, err := api.Capture.Ask(ctx, s.cfg.Memory, &api.CaptureRequest{Said: []api.Said{h.Said},
		Turn: func(work func() error) error { return s.large.Decode(ctx, c.size, work) },
		Make: func(clean []api.Said) (_ []api.CapturedEvent, err error) {
			if o, err = h.observe(clean[0]); err != nil {
				return nil, err
			}
			if have, err = s.known(ctx, c.ns, o); err != nil || have.ID != 0 {
				return nil, err
			}
			return []api.CapturedEvent{c.event(o)}, nil
		}})
	if errors.Is(err, oplog.ErrEventKnown) { // another client was faster
		return s.known(ctx, c.ns, o)
	}
	if err != nil {
		return captured{}, err
	}
	if have.ID != 0 { // its first client may have been told to ask again: the answer waits until searches find it
		_, err = api.Await.Ask(ctx, s.cfg.Memory, &api.AwaitRequest{Found: true})
	} else {
		have = captured{ID: made.IDs[0].Event, TokensEst: o.tokens, SummaryID: made.IDs[0].Summary}
	}
	have.Redacted = made.Redacted
	return have, err
}

// known looks an observation up; ID 0 means that there is none.
func (s *Server) known(ctx context.Context, ns string, o *observation) (have captured, err error) {
	ids, err := s.knownEvents(ctx, ns, []*observation{o})
	if err == nil && ids[0].Event != 0 {
		have = captured{ID: ids[0].Event, TokensEst: o.tokens, Duplicate: true, SummaryID: ids[0].Summary}
	}
	return have, err
}

// knownEvents are the ids of observations that are stored; zero for those that are not.
func (s *Server) knownEvents(ctx context.Context, ns string, all []*observation) ([]api.CapturedIDs, error) {
	marks := api.Each(all, func(o *observation) api.EventMark { return api.EventMark{Session: o.Session, Hash: o.hash} })
	a, err := api.KnownEvents.Ask(ctx, s.cfg.Memory, &api.KnownEventsRequest{Workspace: ns, Marks: marks})
	if err != nil {
		return nil, err
	}
	return a.Events, nil
}

// event is an observation as it is stored, with its summary.
func (c *call) event(o *observation) api.CapturedEvent {
	sum := summarize(o)
	rid := oplog.NewID()
	from := origin{Tool: o.Tool, Session: o.Session, Source: o.Source, Hash: hex.EncodeToString(o.hash),
		TokensIn: o.tokens, Confidence: sum.confidence, Words: others(o.Payload, sum.text), Symbols: symbolsOf(o.Payload)}
	if g := o.given; g != nil {
		from.Model, from.PromptHash, from.Confidence, from.HostIn, from.HostOut = g.by, g.prompt, g.confidence, g.in, g.out
		from.Words, sum = clip(from.Words+" "+sum.text, 2*maxOthers), summary{g.text, g.confidence}
	}
	event := &oplog.Event{Workspace: c.ns, Session: o.Session, Tool: o.Tool, Source: o.Source, Hash: o.hash, Payload: o.stamped,
		Tokens: o.tokens, Dir: c.w.Dir, At: o.at, Status: oplog.EventSummarized, Summary: rid}
	if len(o.stamped) > packed {
		if z := zip().EncodeAll(o.stamped, nil); len(z) < len(o.stamped) {
			event.Payload, event.Packed = z, true
		}
	}
	return api.CapturedEvent{Event: event, Summary: &oplog.Remember{Content: oplog.Content{RID: rid, Text: sum.text, Type: "episodic",
		Importance: 0.5, HalfLife: halfLife(o.Tool).Seconds(), Certainty: sum.confidence, Namespace: c.ns, Domain: "general",
		Source:   o.Source,
		Metadata: kit.Must(kit.Object{"sift", from}), Session: o.Session, Created: o.at, Updated: oplog.At(time.Now()),
		Expires: o.expires}}}
}

// zip is shared: EncodeAll may be called from any goroutine.
var zip = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4),
		zstd.WithAllLitEntropyCompression(true)) // text without repeats shrinks too, and the largest request must fit an entry
	if err != nil {
		panic("sift: zstd writer: " + err.Error())
	}
	return e
})

// origin holds the event's fields in a summary's metadata.
type origin struct {
	Tool       string  `json:"tool"`
	Session    string  `json:"session"`
	Source     string  `json:"source"`
	Hash       string  `json:"hash"`
	TokensIn   uint64  `json:"tokensIn"`
	Confidence float64 `json:"confidence"`
	Words      string  `json:"words,omitempty"` // of the payload, that the summary leaves out: search finds it by them

	Symbols    []string `json:"symbols,omitempty"` // that the payload declares, as kind:name
	Model      string   `json:"model,omitempty"`   // that wrote the summary; blank: it was cut by rules
	PromptHash string   `json:"promptHash,omitempty"`
	HostIn     *uint64  `json:"hostTokensIn,omitempty"` // tokens that the model read and wrote, as its client counts them
	HostOut    *uint64  `json:"hostTokensOut,omitempty"`
}

// halfLife is the half-life of a summary, by its tool.
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
