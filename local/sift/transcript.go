package sift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/transcript"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

// maxLine bounds a line of a transcript; a longer one is broken.
const maxLine = 16 << 20

// replayed are the tools whose calls are taken from transcripts.
var replayed = map[string]bool{"Read": true, "Write": true, "Edit": true, "Bash": true, "Grep": true, "Glob": true, transcript.Patch: true}

// use is a tool's use whose result has not come yet.
type use struct {
	at    time.Time
	name  string
	input json.RawMessage
}

// maxPending bounds the uses that wait for a result; the oldest transcripts lose theirs rather than grow.
const maxPending = 10_000

// transcript replays one session file: a frame for each use that meets its result, at most per of them.
func (c *call) transcript(ctx context.Context, r *backfillRun, path string, per int) error {
	f, err := openRegular(path)
	if err != nil {
		return errors.New("transcript not readable: " + reason(err))
	}
	defer f.Close()
	session := transcript.SessionOf(path)
	b := &batch{c: c, r: r}
	pending := map[string]use{}
	taken := 0
	for raw, err := range kit.Lines(f, maxLine) {
		switch {
		case taken >= per:
			return b.flush(ctx)
		case errors.Is(err, kit.ErrLongLine):
			r.change(func(t *Tally) { t.Broken++ })
			r.fail(errors.New("a line is longer than 16 MiB"))
			continue
		case err != nil:
			return errors.Join(errors.New("transcript not readable: "+reason(err)), b.flush(ctx))
		case ctx.Err() != nil:
			return errStop
		}
		line, err := transcript.Parse(raw)
		if err != nil {
			r.change(func(t *Tally) { t.Broken++ })
		}
		for _, bl := range line.Blocks {
			if bl.Type == "tool_use" {
				if replayed[bl.Name] && bl.ID != "" && len(pending) < maxPending {
					pending[bl.ID] = use{line.At, bl.Name, bytes.Clone(bl.Input)}
				}
				continue
			}
			u, ok := pending[bl.ToolUseID]
			if !ok || taken >= per {
				continue
			}
			delete(pending, bl.ToolUseID)
			taken++
			h := heard{Said: api.Said{Session: session, Tool: u.name, Source: "replay",
				Payload: map[string]any{"tool_input": value(u.input), "tool_response": value(bl.Content)}},
				at: oplog.Time(u.at.UnixMilli()) * 1000}
			if err := b.add(ctx, h, len(u.input)+len(bl.Content)); err != nil {
				return err
			}
		}
	}
	return b.flush(ctx)
}

// value decodes a block's part; images and other encoded data are left out of it.
func value(raw json.RawMessage) any {
	v, err := large.JSON(raw)
	if err != nil { // nothing is there
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return v
	}
	return slices.DeleteFunc(list, func(x any) bool {
		m, ok := x.(map[string]any)
		return ok && m["source"] != nil && m["type"] != "text"
	})
}

// openRegular opens a plain file and nothing else, without waiting for one that is a pipe by now.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("not a regular file"), f.Close())
	}
	return f, nil
}

// reason is an error without the path in it.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
