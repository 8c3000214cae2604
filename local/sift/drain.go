package sift

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/redact"
)

// Clients with a model can summarize events. They claim events, and the text that they record replaces the summary by
// rules. Claims are only in the memory of this process: after a restart, events without a recorded text are offered
// again. That is safe, because an event accepts only one text.

const (
	maxClaims       = 64               // events in an answer
	maxClaimed      = 1024             // claims of a workspace
	maxClaimBytes   = 7 << 20          // of payloads in an answer; they fit a frame even after escaping
	maxClaimPayload = 1 << 20          // larger payloads are not offered
	claimTimeout    = 10 * time.Minute // then the event is offered again
	maxAttempts     = 3
	pruneAge        = 7 * 24 * time.Hour

	maxRetries  = 8 // of a write that conflicts with others
	errConflict = badRequest("the memory changes all the time; retry")
)

// isConflict reports whether a correction was rejected because its memory has changed meanwhile.
func isConflict(err error) bool {
	r, ok := errors.AsType[*api.Refusal](err)
	return errors.Is(err, oplog.ErrRevision) || ok && r.Code == "revision_conflict"
}

// backlog tracks the captures of a workspace that wait for the summary of a model.
type backlog struct {
	mu     sync.Mutex
	next   oplog.Seq                // summary to offer next
	claims map[oplog.EventID]*claim // of claimed, released and skipped events
}

// claim is the state of an event that was offered to a client.
type claim struct {
	until     time.Time // end of the claim; zero after a release
	attempts  int
	skipped   bool
	eventTime oplog.Time // when the event was captured
}

// backlog returns the backlog of the workspace, locked until done is called.
func (c *call) backlog() (b *backlog, done func()) {
	c.s.mu.Lock()
	if b = c.s.backlogs[c.ns]; b == nil {
		b = &backlog{claims: map[oplog.EventID]*claim{}}
		c.s.backlogs[c.ns] = b
	}
	c.s.mu.Unlock()
	b.mu.Lock()
	return b, b.mu.Unlock
}

// claimForSummary offers events whose summary was made by rules: released events first, then the oldest ones.
func claimForSummary(ctx context.Context, c *call) (any, error) {
	n, err := c.count("batch", 1, maxClaims)
	if err != nil {
		return nil, err
	}
	b, done := c.backlog()
	defer done()
	released := b.selectClaims(func(h *claim) bool { return !h.busy() })
	o := &offers{backlog: b, events: []kit.Object{}, limit: n, bytesLeft: maxClaimBytes}
	// This many payloads of the largest size fit a page.
	for ids := range slices.Chunk(released[:min(len(released), n)], maxClaimBytes/maxClaimPayload) {
		page, err := api.Captures.Ask(ctx, c.s.cfg.Memory, &api.CapturesRequest{Workspace: c.ns, Events: ids, Payloads: maxClaimBytes})
		if err != nil {
			return nil, err
		}
		if o.add(page); o.full {
			break
		}
		for _, id := range ids { // not offered: the event has a text by now, or was merged or forgotten
			if !b.claims[id].busy() {
				delete(b.claims, id)
			}
		}
	}
	for range maxAttempts { // at most a few pages for a request
		if o.full || len(o.events) == n || len(b.claims) >= maxClaimed {
			break
		}
		page, err := api.Captures.Ask(ctx, c.s.cfg.Memory, &api.CapturesRequest{Workspace: c.ns, From: b.next, Payloads: maxClaimBytes})
		if err != nil {
			return nil, err
		}
		end := page.Next == 0
		if last := len(page.Captures) - 1; end && last >= 0 {
			page.Next = page.Captures[last].Seq + 1
		}
		o.add(page)
		if b.next = max(b.next, page.Next); end {
			break
		}
	}
	return kit.Object{"events", o.events}, nil
}

// offers collects the events of an answer: at most limit events, with at most bytesLeft bytes of payloads.
type offers struct {
	*backlog
	events           []kit.Object
	limit, bytesLeft int
	full             bool // there are more
}

// add claims the events of a page. If not all fit, it sets the Next of the page to the first that does not.
func (o *offers) add(page *api.CapturesPage) {
	for _, x := range page.Captures {
		from, _ := originOf(x.Memory)
		text, err := decodePayload(x.Event)
		if from.Model != "" || x.Status != oplog.Active || err != nil || x.Event.Payload == nil || len(text) > maxClaimPayload || o.claims[x.Event.ID].busy() {
			continue
		}
		if o.full = len(o.events) == o.limit || len(text) > o.bytesLeft; o.full {
			page.Next = x.Seq
			return
		}
		offered := cmp.Or(o.claims[x.Event.ID], &claim{eventTime: x.Event.At})
		offered.until, o.claims[x.Event.ID] = time.Now().Add(claimTimeout), offered
		o.bytesLeft -= len(text)
		o.events = append(o.events,
			kit.Object{"id", x.Event.ID, "ts", int64(x.Event.At) / 1000, "sessionId", x.Event.Session, "tool", x.Event.Tool,
				"inputHash", hex.EncodeToString(x.Event.Hash), "payloadJson", string(text), "tokensEst", x.Event.Tokens})
	}
}

// busy reports whether an event must not be offered.
func (h *claim) busy() bool { return h != nil && (h.skipped || time.Now().Before(h.until)) }

// selectClaims returns the events of the claims that match selects, sorted.
func (b *backlog) selectClaims(match func(*claim) bool) (ids []oplog.EventID) {
	for id, h := range b.claims {
		if match(h) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// recordSummary replaces the summary of an event by a client's text. An event accepts only one text: a second one is
// dropped, and its client gets the id of the first. So is a text for a summary that was merged into another memory.
func recordSummary(ctx context.Context, c *call) (any, error) {
	id, err := c.id("eventId")
	if err != nil {
		return nil, err
	}
	by, _ := c.text("model")
	prompt, _ := c.text("promptHash")
	text, _ := c.text("text")
	if text = strings.TrimSpace(redact.String(text)); text == "" || len(text) > maxRecorded {
		return nil, badRequest("record_summary: text must have 1 to 65536 bytes")
	}
	if by == "" || len(by) > maxName || len(prompt) > maxName {
		return nil, badRequest("record_summary: model required; model and promptHash have at most 512 bytes")
	}
	for range maxRetries {
		page, err := api.Captures.Ask(ctx, c.s.cfg.Memory,
			&api.CapturesRequest{Workspace: c.ns, Events: []oplog.EventID{oplog.EventID(id)}})
		if err != nil {
			return nil, err
		}
		if len(page.Captures) == 0 {
			return nil, badRequest("record_summary: no such event in this workspace")
		}
		m := page.Captures[0].Memory
		o, ok := originOf(m)
		if ok && o.Model == "" && m.Status == oplog.Active {
			o.Model, o.PromptHash = redact.String(by), prompt
			o.Words = truncate(o.Words+" "+m.Text, 2*maxExtraWords)
			err = c.replaceSummary(ctx, m, o, text)
		}
		if isConflict(err) {
			continue
		}
		if err == nil {
			b, done := c.backlog()
			delete(b.claims, oplog.EventID(id))
			done()
		}
		return kit.Object{"id", m.Seq}, err
	}
	return nil, errConflict
}

const maxRecorded = 64 << 10

// replaceSummary corrects a summary. The origin keeps the words of the old one, so that searches still find the event
// by them.
func (c *call) replaceSummary(ctx context.Context, m *oplog.Memory, o origin, text string) error {
	for name, into := range map[string]**uint64{"tokensIn": &o.HostIn, "tokensOut": &o.HostOut} {
		if n, found, err := c.number(name); err == nil && found && n >= 0 {
			*into = new(uint64(min(n, 1<<53)))
		}
	}
	certainty := m.Certainty
	if n, found, err := c.number("confidence"); err == nil && found && !math.IsNaN(n) {
		certainty = max(0, min(n, 1))
	}
	o.Confidence = certainty
	_, err := api.Correct.Ask(ctx, c.s.cfg.Memory,
		&api.CorrectRequest{RID: m.RID, Text: &text, Certainty: &certainty, Merge: kit.MustJSON(kit.Object{"sift", o}),
			Expected: &m.Revision, Reason: "summarised by " + o.Model})
	return err
}

// releaseSummary releases a claim. After three attempts, or with terminal, the event is skipped and keeps its
// summary. The client's reason is not stored, because it may repeat the payload.
func releaseSummary(_ context.Context, c *call) (any, error) {
	id, err := c.id("eventId")
	if err != nil {
		return nil, err
	}
	b, done := c.backlog()
	defer done()
	h := b.claims[oplog.EventID(id)]
	if h == nil { // claimed before a restart, or on another node
		return kit.Object{"status", "released"}, nil
	}
	h.attempts++
	if h.until = (time.Time{}); c.fields.Flag("terminal", false) || h.attempts >= maxAttempts {
		h.skipped = true
		return kit.Object{"status", "skipped"}, nil
	}
	return kit.Object{"status", "released"}, nil
}

// retrySkipped makes skipped events available for claims again.
func retrySkipped(_ context.Context, c *call) (any, error) {
	limit, err := c.count("limit", maxClaimed, maxClaimed)
	if err != nil {
		return nil, err
	}
	b, done := c.backlog()
	defer done()
	ids := b.selectClaims(func(h *claim) bool { return h.skipped })
	ids = ids[:min(len(ids), limit)]
	for _, id := range ids {
		*b.claims[id] = claim{eventTime: b.claims[id].eventTime}
	}
	return kit.Object{"requeued", len(ids)}, nil
}

// prune removes old skipped events from the list that retry_skipped offers; they keep their summary. With superseded,
// it forgets the summaries that were merged into others.
func prune(ctx context.Context, c *call) (any, error) {
	age, found, err := c.number("maxAgeMs")
	if err != nil {
		return nil, err
	}
	if !found {
		age = float64(pruneAge.Milliseconds())
	}
	before := oplog.At(time.Now()) - oplog.Time(max(0, min(age, maxTimeMs))*1000)
	b, done := c.backlog()
	removed := b.selectClaims(func(h *claim) bool { return h.skipped && h.eventTime < before })
	for _, id := range removed {
		delete(b.claims, id)
	}
	done()
	forgotten := 0
	if c.fields.Flag("superseded", false) {
		forgotten, err = c.forgetMerged(ctx)
	}
	return kit.Object{"removedEvents", len(removed), "removedSummaries", forgotten}, err
}

func (c *call) forgetMerged(ctx context.Context) (n int, err error) {
	for next := oplog.Seq(0); ; {
		page, err := api.Captures.Ask(ctx, c.s.cfg.Memory, &api.CapturesRequest{Workspace: c.ns, From: next, Merged: true})
		if err != nil {
			return n, err
		}
		if len(page.Captures) > 0 {
			ids := api.Each(page.Captures, func(x api.CapturedMemory) string { return x.RID })
			done, err := api.ForgetMany.Ask(ctx, c.s.cfg.Memory, &api.ForgetManyRequest{RIDs: ids})
			if err != nil {
				return n, err
			}
			for _, found := range done.Found {
				if found {
					n++
				}
			}
		}
		if next = page.Next; next == 0 {
			return n, nil
		}
	}
}

// cacheSeconds is the lifetime of a cached text: thirty days. Cached texts are keyed memories that searches do not
// find, in the namespace of the workspace with /cache appended.
const cacheSeconds = 30 * 24 * 3600

var cacheKey = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// cachePath returns the namespace and the key of a cached text.
func (c *call) cachePath() (ns, path string, err error) {
	key, _ := c.text("cacheKey")
	if !cacheKey.MatchString(key) {
		return "", "", badRequest(c.kind() + ": cacheKey must have 1 to 128 letters, digits, dots, dashes and underscores")
	}
	return c.ns + "/cache", "/" + key, nil
}

// cached is a text in the cache.
type cached struct {
	Text      string   `json:"text"`
	TokensIn  *float64 `json:"tokensIn"`
	TokensOut *float64 `json:"tokensOut"`
}

func cacheGet(ctx context.Context, c *call) (any, error) {
	ns, path, err := c.cachePath()
	if err != nil {
		return nil, err
	}
	m, err := api.GetKey.Ask(ctx, c.s.cfg.Memory, &api.GetKeyRequest{Namespace: ns, Path: path})
	if errors.Is(err, oplog.ErrNoHolder) {
		return kit.Object{"cached", nil}, nil
	}
	if err != nil {
		return nil, err
	}
	found := cached{Text: m.Text}
	_ = json.Unmarshal(m.Metadata, &found) // written by cachePut
	return kit.Object{"cached", found}, nil
}

func cachePut(ctx context.Context, c *call) (any, error) {
	ns, path, err := c.cachePath()
	if err != nil {
		return nil, err
	}
	text, _ := c.text("text")
	if text = redact.String(text); strings.TrimSpace(text) == "" || len(text) > maxRecorded {
		return nil, badRequest("cache_put: text must have 1 to 65536 bytes")
	}
	in, err := serve.DecodeMember[float64](c.fields, "tokensIn")
	out, err2 := serve.DecodeMember[float64](c.fields, "tokensOut")
	if cmp.Or(err, err2) != nil {
		return nil, badRequest("cache_put: tokensIn and tokensOut must be numbers")
	}
	_, err = api.Put.Ask(ctx, c.s.cfg.Memory,
		&api.PutRequest{Path: path, Draft: api.Draft{Namespace: ns, Text: text, Type: "cache", Importance: 0.1, HalfLife: 168, Certainty: 1,
			Metadata: kit.MustJSON(kit.Object{"tokensIn", in, "tokensOut", out}), Source: "sift", Searchable: new(false),
			TTL: new(float64(cacheSeconds))}})
	return kit.Object{"ok", true}, err
}

// decodePayload returns the JSON of an event's payload.
func decodePayload(e *oplog.StoredEvent) ([]byte, error) {
	if !e.Packed || e.Payload == nil {
		return e.Payload, nil
	}
	return decoder().DecodeAll(e.Payload, nil)
}

// decoder is shared: DecodeAll may be called from any goroutine.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(uint64(2*format.Max)), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic("sift: zstd reader: " + err.Error())
	}
	return d
})
