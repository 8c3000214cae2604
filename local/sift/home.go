package sift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// importHome takes over what an earlier daemon left of this workspace in its write-ahead file:
// {"kind":"import_home","home":DIR}, DIR being its ~/.siftcoder. Safe to run again: events already there are skipped.
func importHome(_ context.Context, c *call) (any, error) {
	home, ok := c.text("home")
	if !ok || home == "" {
		return nil, badRequest("import_home: home required")
	}
	below := filepath.Join(c.s.cfg.NS, "workspaces", c.w.Key, "wal.ndjson")
	return c.background("wal", func(ctx context.Context, job *call, r *backfillRun) error {
		return job.s.onHost(ctx, api.UseFiles, func() error { return job.takeOver(ctx, r, home, below) })
	})
}

// takeOver reads one write-ahead file below a home: a JSON object a line. Torn and foreign lines are counted and passed
// over.
func (c *call) takeOver(ctx context.Context, r *backfillRun, home, below string) error {
	f, err := openRegular(filepath.Join(home, below))
	if err != nil {
		return badRequest("import_home: " + below + ": " + reason(err))
	}
	defer f.Close()
	r.change(func(t *Tally) { t.Files, t.Scanned = 1, 1 })
	b, n := &batch{c: c, r: r}, 0
	for raw, err := range kit.Lines(f, maxLine) {
		if err != nil && !errors.Is(err, kit.ErrLongLine) {
			return err
		}
		n++
		h, ok := walLine(raw)
		if !ok {
			r.change(func(t *Tally) { t.Broken++ })
			continue
		}
		if err := b.add(ctx, h, len(raw)); err != nil {
			return err
		}
		if n%10_000 == 0 {
			t, _ := r.now()
			c.s.Log.Info("import", "workspace", c.w.Key, "lines", n, "captured", t.Captured, "duplicate", t.SkippedDuplicate)
		}
	}
	return b.flush(ctx)
}

func walLine(raw []byte) (h heard, ok bool) {
	var l struct {
		TS        float64         `json:"ts"`
		SessionID string          `json:"sessionId"`
		Tool      string          `json:"tool"`
		Payload   json.RawMessage `json:"payload"`
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if json.Unmarshal(raw, &l) != nil || l.SessionID == "" || l.Tool == "" || len(l.Payload) == 0 || l.TS < 0 || l.TS > maxMs {
		return h, false
	}
	h = heard{Said: api.Said{Session: l.SessionID, Tool: l.Tool, Payload: value(l.Payload)}, at: oplog.Time(l.TS) * 1000}
	h.unwrap()
	return h, true
}
