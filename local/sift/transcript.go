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

// maxLine bounds a line of a transcript. A longer line is skipped and counted as broken.
const maxLine = 16 << 20

// replayed holds the tools whose calls are captured from transcripts.
var replayed = map[string]bool{"Read": true, "Write": true, "Edit": true, "Bash": true, "Grep": true, "Glob": true, transcript.Patch: true}

// toolUse is a call of a tool whose result has not been read yet.
type toolUse struct {
	at    time.Time
	name  string
	input json.RawMessage
}

// maxPending bounds the uses that wait for a result. Further uses are not captured.
const maxPending = 10_000

// transcript captures the tool calls of a session file that have a result, at most limit of them.
func (c *call) transcript(ctx context.Context, r *backfillRun, path string, limit int) error {
	f, err := openRegular(path)
	if err != nil {
		return errors.New("transcript not readable: " + errorText(err))
	}
	defer f.Close()
	session := transcript.SessionOf(path)
	b := &batch{c: c, r: r}
	pending := map[string]toolUse{}
	count := 0
	for raw, err := range kit.Lines(f, maxLine) {
		switch {
		case count >= limit:
			return b.flush(ctx)
		case errors.Is(err, kit.ErrLongLine):
			r.update(func(t *Tally) { t.Broken++ })
			r.fail(errors.New("a line is longer than 16 MiB"))
			continue
		case err != nil:
			return errors.Join(errors.New("transcript not readable: "+errorText(err)), b.flush(ctx))
		case ctx.Err() != nil:
			return errClusterUnavailable
		}
		line, err := transcript.Parse(raw)
		if err != nil {
			r.update(func(t *Tally) { t.Broken++ })
		}
		for _, bl := range line.Blocks {
			if bl.Type == "tool_use" {
				if replayed[bl.Name] && bl.ID != "" && len(pending) < maxPending {
					pending[bl.ID] = toolUse{line.At, bl.Name, bytes.Clone(bl.Input)}
				}
				continue
			}
			u, ok := pending[bl.ToolUseID]
			if !ok || count >= limit {
				continue
			}
			delete(pending, bl.ToolUseID)
			count++
			h := toolOutput{Said: api.Said{Session: session, Tool: u.name, Source: "replay",
				Payload: map[string]any{"tool_input": decodeContent(u.input), "tool_response": decodeContent(bl.Content)}},
				at: oplog.Time(u.at.UnixMilli()) * 1000}
			if err := b.add(ctx, h, len(u.input)+len(bl.Content)); err != nil {
				return err
			}
		}
	}
	return b.flush(ctx)
}

// decodeContent decodes a part of a block without its images and other encoded data.
func decodeContent(raw json.RawMessage) any {
	v, err := large.JSON(raw)
	if err != nil { // the part is absent
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

// openRegular opens a regular file. It does not follow a link, and does not wait for the writer of a pipe.
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

// errorText returns an error text without the path.
func errorText(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
