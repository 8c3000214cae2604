package sift

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A row is a summary as get and timeline show it. A memory that another protocol stored has no event.
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

func makeRow(v *state.View, db oplog.DB, m *oplog.Memory) row {
	r := row{ID: m.Seq, TS: int64(m.Created) / 1000, Text: m.Text, TokensOut: uint64(utf8.RuneCountInString(m.Text)+3) / 4,
		Confidence: m.Certainty, SessionID: m.Session, Model: m.Source}
	if o, ok := originOf(m); ok {
		r.Model, r.PromptHash, r.TokensIn, r.Tool, r.SessionID = model, promptHash, &o.TokensIn, o.Tool, o.Session
		if id := v.EventOf(db, m.RID); id != 0 {
			r.EventID = &id
		}
	}
	return r
}

// originOf reads what a summary says of its event; ok is false for memories of other protocols.
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

// sees says whether a memory is shown in the workspace: its own, and, unless the server is private, what other
// protocols stored. Never another workspace's.
func (c *call) sees(m *oplog.Memory) bool {
	if m.Status == oplog.Tombstoned {
		return false
	}
	return m.Namespace == c.ns || !c.s.cfg.Private && !strings.HasPrefix(m.Namespace, privatePrefix)
}

// foreignReach limits the records that are searched for memories of other protocols. The workspace's own are found by
// their namespace, however many others lie between.
const foreignReach = 4000

// beside collects up to n visible records on one side of a number, nearest first.
func (c *call) beside(v *state.View, db oplog.DB, from oplog.Seq, n int, back bool) []row {
	rows := []row{}
	if n <= 0 {
		return rows
	}
	own, all, first, order := v.NamespaceFrom, v.Memories, from+1, 1
	if back {
		own, all, first, order = v.NamespaceBack, v.MemoriesBack, from, -1
	}
	var found []*oplog.Memory
	own(db, c.ns, first, func(s oplog.Seq) bool {
		if m, ok := v.MemoryAt(db, s); ok && c.sees(m) {
			found = append(found, m)
		}
		return len(found) < n
	})
	if !c.s.cfg.Private {
		looked, enough := 0, len(found)+n
		all(db, first, func(m *oplog.Memory) bool {
			if looked++; m.Namespace != c.ns && c.sees(m) {
				found = append(found, m)
			}
			return len(found) < enough && looked < foreignReach
		})
	}
	slices.SortFunc(found, func(a, b *oplog.Memory) int { return order * cmp.Compare(a.Seq, b.Seq) })
	for _, m := range found[:min(len(found), n)] {
		rows = append(rows, makeRow(v, db, m))
	}
	return rows
}

const maxWindow = 1000

// timeline returns the rows around a summary in the order of ids.
func timeline(ctx context.Context, c *call) (any, error) {
	near, there, err := c.number("nearId")
	if err != nil || !there {
		return nil, badRequest("timeline: nearId must be a number")
	}
	window, err := c.count("window", 10, maxWindow)
	if err != nil {
		return nil, err
	}
	before, after := []row{}, []row{}
	var here *row
	// The place between two ids is that of the higher one: ids before it are lower, ids after it are not.
	at := oplog.Seq(math.Ceil(math.Min(math.Max(near, 0), 1<<53)))
	err = c.s.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		if float64(at) == near {
			if m, ok := v.MemoryAt(db, at); ok && c.sees(m) {
				r := makeRow(v, db, m)
				here = &r
			}
		}
		if at > 0 {
			before = c.beside(v, db, at, window, true)
			slices.Reverse(before)
		}
		from := at
		if float64(at) != near && at > 0 {
			from = at - 1
		}
		after = c.beside(v, db, from, window, false)
		return nil
	})
	all := slices.Clone(before)
	if here != nil {
		all = append(all, *here)
	}
	return kit.Object{"before", before, "near", here, "after", after, "rows", append(all, after...)}, err
}

const maxIDs = 10_000

// get fetches summaries by their ids, ascending.
func get(ctx context.Context, c *call) (any, error) {
	const bad = badRequest("get: ids must be an array of integers")
	var numbers []*float64 // a null is none
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
	rows := []row{}
	err := c.s.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		for _, id := range slices.Compact(ids) {
			if m, ok := v.MemoryAt(db, id); ok && c.sees(m) {
				rows = append(rows, makeRow(v, db, m))
			}
		}
		return nil
	})
	return kit.Object{"summaries", rows, "rows", rows}, err
}

// newest are the latest visible records, by time, then by id.
func (c *call) newest(ctx context.Context, k int) (all []row, err error) {
	err = c.s.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		all = c.beside(v, db, 0, k, true)
		return nil
	})
	slices.SortStableFunc(all, func(a, b row) int { return newer(a.TS, b.TS, a.ID, b.ID) })
	return all, err
}

func newer(ta, tb int64, a, b oplog.Seq) int { return cmp.Or(cmp.Compare(tb, ta), cmp.Compare(b, a)) }

// summaries lists the newest.
func summaries(ctx context.Context, c *call) (any, error) {
	limit, err := c.count("limit", 20, maxWindow)
	if err != nil {
		return nil, err
	}
	all, err := c.newest(ctx, limit)
	out := make([]kit.Object, len(all))
	for i, r := range all {
		text := r.Text
		if utf8.RuneCountInString(text) > maxSummary {
			text = string([]rune(text)[:maxSummary]) + "..."
		}
		out[i] = kit.Object{"id", r.ID, "eventId", r.EventID, "ts", time.UnixMilli(r.TS).UTC().Format("2006-01-02T15:04:05.000Z"), "model", r.Model,
			"text", text, "confidence", r.Confidence}
	}
	return kit.Object{"summaries", out}, err
}

// why has nothing to say: there are no edges between events here.
func why(context.Context, *call) (any, error) { return kit.Object{"edges", []any{}}, nil }
