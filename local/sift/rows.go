package sift

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// row is a summary in the answers of get and timeline. A memory of another protocol has no event.
type row struct {
	ID         oplog.Seq      `json:"id"`
	EventID    *oplog.EventID `json:"eventId"`
	TS         int64          `json:"ts"`
	Model      string         `json:"model"`
	PromptHash string         `json:"promptHash"`
	Text       string         `json:"text"`
	TokensIn   *uint64        `json:"tokensIn"`
	TokensOut  uint64         `json:"tokensOut"`
	Confidence float64        `json:"confidence"`
	Tool       string         `json:"tool,omitempty"`
	SessionID  string         `json:"sessionId,omitempty"`
}

func makeRow(k api.Kept) row {
	m := k.Memory
	r := row{ID: m.Seq, TS: int64(m.Created) / 1000, Text: m.Text, TokensOut: uint64(utf8.RuneCountInString(m.Text)+3) / 4,
		Confidence: m.Certainty, SessionID: m.Session, Model: m.Source}
	if o, ok := originOf(m); ok {
		r.Model, r.PromptHash, r.TokensIn, r.Tool, r.SessionID = model, promptHash, &o.TokensIn, o.Tool, o.Session
		if o.Model != "" {
			r.Model, r.PromptHash, r.TokensIn, r.TokensOut = o.Model, o.PromptHash, cmp.Or(o.HostIn, r.TokensIn), *cmp.Or(o.HostOut, &r.TokensOut)
		}
		if k.Event != 0 {
			r.EventID = &k.Event
		}
	}
	return r
}

// originOf reads the origin in the metadata of a summary. ok is false for memories of other protocols.
func originOf(m *oplog.Memory) (o origin, ok bool) {
	if !strings.HasPrefix(m.Namespace, privatePrefix) {
		return o, false
	}
	var meta struct {
		Sift *origin `json:"sift"`
	}
	if json.Unmarshal(m.Metadata, &meta) != nil || meta.Sift == nil {
		return o, false
	}
	return *meta.Sift, true
}

// visible returns the filter for the memories that the workspace sees: its own and, unless the server is private,
// those of other protocols. It never sees those of another workspace.
func (c *call) visible() api.Visibility {
	return api.Visibility{Namespace: c.ns, Private: privatePrefix, Alone: c.ownOnly || c.s.cfg.Private}
}

// neighbours returns the visible rows on both sides of a number, nearest first.
func (c *call) neighbours(ctx context.Context, at oplog.Seq, before, after int) (earlier, later []row, err error) {
	a, err := api.Neighbours.Ask(ctx, c.s.cfg.Memory, &api.NeighboursRequest{Visibility: c.visible(), At: at, Before: before, After: after})
	if err != nil {
		return nil, nil, err
	}
	return api.Each(a.Before, makeRow), api.Each(a.After, makeRow), nil
}

const maxWindow = 1000

// timeline returns the rows around a summary, in the order of ids.
func timeline(ctx context.Context, c *call) (any, error) {
	near, found, err := c.number("nearId")
	if err != nil || !found {
		return nil, badRequest("timeline: nearId must be a number")
	}
	window, err := c.count("window", 10, maxWindow)
	if err != nil {
		return nil, err
	}
	// A number between two ids means the higher id.
	at := oplog.Seq(math.Ceil(math.Min(math.Max(near, 0), 1<<53)))
	back := window
	if at == 0 {
		back = 0
	}
	before, after, err := c.neighbours(ctx, at, back, window+1)
	if err != nil {
		return nil, err
	}
	slices.Reverse(before)
	all := slices.Clone(before)
	var exact *row
	if len(after) > 0 && float64(after[0].ID) == near {
		exact, all, after = &after[0], append(all, after[0]), after[1:]
	}
	after = after[:min(len(after), window)]
	return kit.Object{"before", before, "near", exact, "after", after, "rows", append(all, after...)}, nil
}

const maxIDs = 10_000

// get returns the summaries with the requested ids, ascending.
func get(ctx context.Context, c *call) (any, error) {
	const bad = badRequest("get: ids must be an array of integers")
	var numbers []*float64 // null is rejected
	if json.Unmarshal(c.fields["ids"], &numbers) != nil || numbers == nil {
		return nil, bad
	}
	if len(numbers) > maxIDs {
		return nil, badRequest("get: too many ids")
	}
	var ids []oplog.Seq
	for _, n := range numbers {
		if n == nil || *n != math.Trunc(*n) {
			return nil, bad
		}
		if *n >= 1 && *n < 1<<53 {
			ids = append(ids, oplog.Seq(*n))
		}
	}
	slices.Sort(ids)
	rows, err := c.rowsByID(ctx, slices.Compact(ids))
	return kit.Object{"summaries", rows, "rows", rows}, err
}

// rowsByID returns the visible rows with the given ids, in the order of ids.
func (c *call) rowsByID(ctx context.Context, ids []oplog.Seq) ([]row, error) {
	kept, err := c.memoriesByID(ctx, ids)
	return api.Each(kept, makeRow), err
}

// memoriesByID returns the visible memories with the given ids, in the order of ids.
func (c *call) memoriesByID(ctx context.Context, ids []oplog.Seq) ([]api.Kept, error) {
	a, err := api.Numbered.Ask(ctx, c.s.cfg.Memory, &api.NumberedRequest{Seqs: ids})
	if err != nil {
		return nil, err
	}
	visibility := c.visible()
	return slices.DeleteFunc(a.Memories, func(k api.Kept) bool { return !visibility.Shows(k.Memory) }), nil
}

// newest returns the latest visible rows, by time and then by id.
func (c *call) newest(ctx context.Context, k int) ([]row, error) {
	all, _, err := c.neighbours(ctx, 0, k, 0)
	slices.SortStableFunc(all, func(a, b row) int { return compareNewest(a.TS, b.TS, a.ID, b.ID) })
	return all, err
}

func compareNewest(ta, tb int64, a, b oplog.Seq) int {
	return cmp.Or(cmp.Compare(tb, ta), cmp.Compare(b, a))
}

// summaries lists the newest summaries.
func summaries(ctx context.Context, c *call) (any, error) {
	limit, err := c.count("limit", 20, maxWindow)
	if err != nil {
		return nil, err
	}
	all, err := c.newest(ctx, limit)
	return kit.Object{"summaries", api.Each(all, summaryItem)}, err
}

// summaryItem formats a row for lists, with its text cut and its time as a string.
func summaryItem(r row) kit.Object {
	text := r.Text
	if utf8.RuneCountInString(text) > maxSummary {
		text = string([]rune(text)[:maxSummary]) + "..."
	}
	return kit.Object{"id", r.ID, "eventId", r.EventID, "ts", iso(r.TS), "model", r.Model, "text", text, "confidence", r.Confidence}
}

// why returns no edges, because events have none here.
func why(context.Context, *call) (any, error) { return kit.Object{"edges", []any{}}, nil }
