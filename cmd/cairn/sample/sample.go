// Package sample stores the data of `cairn dev --sample` for new users: 200 memories of a fictional team over a year,
// with sessions, relations, corrections and a contradiction. It writes through the gateway, as any client does.
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

// Namespace holds most of the memories. The memories of lastNamespace are stored last: if there are any, the sample
// is complete.
const (
	Namespace     = "lantern"
	lastNamespace = "people"
)

//go:embed team.jsonl
var team []byte

// A row of team.jsonl is a memory, a relation, or a correction of a memory that has a name.
type row struct {
	Days       int     `json:"days"` // age in days
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

// halfLife is long enough for recall to find memories of a year ago. With the default of a week they would have
// faded.
const halfLife = 4000 // hours

// Store stores the sample unless it is stored already, and returns the number of new memories. After an interruption,
// a call on the same day completes it: relations and sessions are idempotent, and memories have idempotency keys.
func Store(ctx context.Context, t *cli.Target, now time.Time) (stored int, err error) {
	var there struct {
		Total uint64 `json:"total"`
	}
	if err := t.Get(ctx, "GET", "/v1/memories?limit=1&namespace="+lastNamespace, nil, &there); err != nil || there.Total > 0 {
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
	sessions, err := startSessions(ctx, t, rows)
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
	// only now, because they would join an open session
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
	return stored, t.Get(ctx, "POST", "/v1/think", map[string]any{}, new(any)) // to find the contradiction
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

// startSessions opens the sessions of the memories. Each has its own client, because a client has at most one open
// session in a namespace.
func startSessions(ctx context.Context, t *cli.Target, rows []row) (ids []string, err error) {
	open := map[string]bool{}
	for _, r := range rows {
		if r.Session == "" || open[r.Session] {
			continue
		}
		open[r.Session] = true
		if err := t.Get(ctx, "POST", "/v1/sessions",
			map[string]any{"namespace": r.Namespace, "client_id": r.Session, "session_id": r.Session},
			new(any)); err != nil && cli.Status(err) != http.StatusConflict { // opened by an earlier call
			return nil, err
		}
		ids = append(ids, r.Session)
	}
	return ids, nil
}

// remember stores the rows selected by which in one atomic batch. It returns the ids of the memories that have a
// name.
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
