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

// importHome imports the write-ahead file that an earlier daemon left for this workspace. The request is
// {"kind":"import_home","home":DIR}, where DIR is the daemon's ~/.siftcoder. It is safe to run again: events that are
// stored already are skipped.
func importHome(_ context.Context, c *call) (any, error) {
	home, ok := c.text("home")
	if !ok || home == "" {
		return nil, badRequest("import_home: home required")
	}
	walPath := filepath.Join(c.s.cfg.NS, "workspaces", c.w.Key, "wal.ndjson")
	return c.runInBackground("wal", func(ctx context.Context, job *call, r *backfillRun) error {
		return job.s.withPermission(ctx, api.UseFiles, func() error { return job.importWAL(ctx, r, home, walPath) })
	})
}

// importWAL reads a write-ahead file, one JSON object a line. It counts and skips broken lines.
func (c *call) importWAL(ctx context.Context, r *backfillRun, home, walPath string) error {
	f, err := openRegular(filepath.Join(home, walPath))
	if err != nil {
		return badRequest("import_home: " + walPath + ": " + errorText(err))
	}
	defer f.Close()
	r.update(func(t *Tally) { t.Files, t.Scanned = 1, 1 })
	b, n := &batch{c: c, r: r}, 0
	for raw, err := range kit.Lines(f, maxLine) {
		if err != nil && !errors.Is(err, kit.ErrLongLine) {
			return err
		}
		n++
		h, ok := walLine(raw)
		if !ok {
			r.update(func(t *Tally) { t.Broken++ })
			continue
		}
		if err := b.add(ctx, h, len(raw)); err != nil {
			return err
		}
		if n%10_000 == 0 {
			t, _ := r.snapshot()
			c.s.Log.Info("import", "workspace", c.w.Key, "lines", n, "captured", t.Captured, "duplicate", t.SkippedDuplicate)
		}
	}
	return b.flush(ctx)
}

func walLine(raw []byte) (h toolOutput, ok bool) {
	var l struct {
		TS        float64         `json:"ts"`
		SessionID string          `json:"sessionId"`
		Tool      string          `json:"tool"`
		Payload   json.RawMessage `json:"payload"`
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if json.Unmarshal(raw, &l) != nil || l.SessionID == "" || l.Tool == "" || len(l.Payload) == 0 || l.TS < 0 || l.TS > maxTimeMs {
		return h, false
	}
	h = toolOutput{Said: api.Said{Session: l.SessionID, Tool: l.Tool, Payload: decodeContent(l.Payload)}, at: oplog.Time(l.TS) * 1000}
	h.unwrap()
	return h, true
}
