// Package sample holds what `cairn dev --sample` stores so that a newcomer has something to ask: 200 memories of a
// fictional team over a year, with sessions, relations, corrections and a contradiction. It writes through a node's
// gateway as any client does, and knows nothing of the node; cmd/cairn calls it.
package sample

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// Namespace holds most of the memories. Last is one whose memories are stored after all others: what is there was
// stored wholly.
const (
	Namespace = "lantern"
	last      = "people"
)

//go:embed team.jsonl
var team []byte

// A row of team.jsonl is a memory, a relation, or a correction of a memory that has a name.
type row struct {
	Days       int     `json:"days"` // how long ago
	Text       string  `json:"text"`
	Namespace  string  `json:"namespace"`
	Type       string  `json:"type"`
	Importance float64 `json:"importance"`
	Source     string  `json:"source"`
	Session    string  `json:"session"`
	Name       string  `json:"name"`

	Relate  []string `json:"relate"` // source, relation, target
	Correct string   `json:"correct"`
	Reason  string   `json:"reason"`
}

// halfLife keeps what happened a year ago in reach: the usual week would have let it fade.
const halfLife = 4000 // hours

// Store stores the sample, unless it is there, and says how many memories it stored. A call that was interrupted is
// taken up by the next of the same day: relations and sessions are the same ones when they are stored again, and so are
// memories with an idempotency key.
func Store(ctx context.Context, t *cli.Target, now time.Time) (stored int, err error) {
	var there struct {
		Total uint64 `json:"total"`
	}
	if err := t.Get(ctx, "GET", "/v1/memories?limit=1&namespace="+last, nil, &there); err != nil || there.Total > 0 {
		return 0, err
	}
	rows, err := read()
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if len(r.Relate) == 3 {
			if err := t.Get(ctx, "POST", "/v1/relate",
				map[string]any{"entity": r.Relate[0], "relationship": r.Relate[1], "target": r.Relate[2]}, new(any)); err != nil {
				return 0, err
			}
		}
	}
	sessions, err := begin(ctx, t, rows)
	if err != nil {
		return 0, err
	}
	day := now.UTC().Truncate(24 * time.Hour)
	inSessions := func(r row) bool { return r.Session != "" }
	if _, stored, err = remember(ctx, t, rows, inSessions, "sample-sessions", day); err != nil {
		return 0, err
	}
	for _, id := range sessions {
		if err := t.Get(ctx, "DELETE", "/v1/sessions/"+id, nil, new(any)); err != nil {
			return stored, err
		}
	}
	// they would join a session that is open
	named, others, err := remember(ctx, t, rows, func(r row) bool { return !inSessions(r) }, "sample", day)
	if stored += others; err != nil {
		return stored, err
	}
	for _, r := range rows {
		if r.Correct == "" {
			continue
		}
		if err := t.Get(ctx, "POST", "/v1/correct",
			map[string]any{"rid": named[r.Correct], "new_text": r.Text, "reason": r.Reason}, new(any)); err != nil {
			return stored, err
		}
	}
	return stored, t.Get(ctx, "POST", "/v1/think", map[string]any{}, new(any)) // finds the contradiction
}

func read() (rows []row, err error) {
	for r, err := range cli.Values[row](bytes.NewReader(team)) {
		if err != nil {
			return nil, fmt.Errorf("team.jsonl: %w", err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// begin opens the sessions that memories join. Each has its own client: a client has one session open in a
// namespace.
func begin(ctx context.Context, t *cli.Target, rows []row) (ids []string, err error) {
	open := map[string]bool{}
	for _, r := range rows {
		if r.Session == "" || open[r.Session] {
			continue
		}
		open[r.Session] = true
		if err := t.Get(ctx, "POST", "/v1/sessions",
			map[string]any{"namespace": r.Namespace, "client_id": r.Session, "session_id": r.Session},
			new(any)); err != nil && cli.Status(err) != http.StatusConflict { // a call before opened it
			return nil, err
		}
		ids = append(ids, r.Session)
	}
	return ids, nil
}

// remember stores memories in one batch, all or none, and says which id those with a name have.
func remember(ctx context.Context, t *cli.Target, rows []row, which func(row) bool, key string, day time.Time) (named map[string]string, stored int, err error) {
	var drafts []map[string]any
	var names []string
	for _, r := range rows {
		if r.Days == 0 || !which(r) {
			continue
		}
		d := map[string]any{"text": r.Text, "namespace": r.Namespace, "memory_type": r.Type, "importance": r.Importance,
			"source": r.Source, "half_life": halfLife,
			"created_at": day.AddDate(0, 0, -r.Days).Format(time.RFC3339)}
		if r.Session != "" {
			d["session_id"] = r.Session
		}
		drafts, names = append(drafts, d), append(names, r.Name)
	}
	var done struct {
		RIDs []string `json:"rids"`
	}
	if err := t.Get(ctx, "POST", "/v1/remember/batch", map[string]any{"memories": drafts, "idempotency_key": key}, &done); err != nil {
		return nil, 0, err
	}
	if len(done.RIDs) != len(drafts) {
		return nil, 0, fmt.Errorf("the node answered with %d ids for %d memories", len(done.RIDs), len(drafts))
	}
	named = map[string]string{}
	for i, name := range names {
		if name != "" {
			named[name] = done.RIDs[i]
		}
	}
	return named, len(drafts), nil
}
