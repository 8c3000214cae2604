package engine

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Bounds of one batch of an import, which is one entry of the log.
const (
	importRows    = 200
	importBytes   = 1 << 20
	importLine    = 16 << 20 // a memory's text, metadata and revisions at their largest, as JSON
	importTimeout = time.Minute
	maxImports    = 16 // shared among principals
)

// importer stores lines batch by batch. It never reads ahead, so a fast sender waits in its own socket.
type importer struct {
	ctx     context.Context
	s       *Service
	c       api.Caller
	key     string // of the whole import; each batch has its own below it
	keep    bool   // ids that are taken are rejected
	skip    bool   // rejected lines are listed, and end nothing
	batches int
	bytes   int
	drafts  []draftLine
	edges   []edgeLine
	done    api.Imported

	in      *bufio.Reader
	long    []byte // a line that is longer than the reader's buffer
	release func() // gives back the share of a line over importBytes, when it is stored; nil for none
}

// A draftLine is a memory with the number of its line.
type draftLine struct {
	api.Draft
	line int
}

// An edgeLine is a relation with the number of its line.
type edgeLine struct {
	*oplog.Relate
	line int
}

func (s *Service) importLines(ctx context.Context, c api.Caller, q *api.ImportRequest) (*api.Imported, error) {
	done, ok := s.load.imports.Try(c.Principal(), 1)
	if !ok {
		return nil, oplog.Errorf(oplog.Unavailable, "%d imports are under way; retry later", s.load.imports.Used())
	}
	defer done()
	im := importer{ctx: ctx, s: s, c: c, key: q.Key, keep: q.Keep, skip: q.Skip, in: bufio.NewReaderSize(q.Lines, 64<<10)}
	defer im.releaseLongLine()
	if len(im.key) > field.MaxKey-32 {
		return nil, oplog.Errorf(oplog.Invalid, "key: want at most %d bytes", field.MaxKey-32)
	}
	for {
		line, err := im.next()
		if errors.Is(err, io.EOF) {
			break
		}
		im.done.Lines++
		if err == nil {
			if err = im.line(line); err != nil {
				err = im.reject(im.done.Lines, err)
			}
		}
		if err == nil && (im.bytes >= importBytes || len(im.drafts)+len(im.edges) >= s.access.AtOnce(c, importRows)) {
			err = im.flush()
		}
		if err != nil {
			return nil, im.importError(err)
		}
	}
	if err := im.flush(); err != nil {
		return nil, im.importError(err)
	}
	return &im.done, nil
}

// next reads a line, which is valid until the next call; it returns io.EOF after the last one.
func (im *importer) next() ([]byte, error) {
	im.long = im.long[:0]
	for {
		part, err := im.in.ReadSlice('\n')
		if err == nil && len(im.long) == 0 {
			return part, nil
		}
		im.long = append(im.long, part...)
		switch ended := errors.Is(err, io.EOF); {
		case len(im.long) > importLine:
			return nil, oplog.Errorf(oplog.TooLarge, "line is over %d bytes", importLine)
		case err == nil, ended && len(im.long) > 0:
			return im.long, nil
		case ended:
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, oplog.Errorf(oplog.Invalid, "the request body ended early")
		case len(im.long) > importBytes && im.release == nil:
			if err := im.reserveLongLine(); err != nil {
				return nil, err
			}
		}
	}
}

// reserveLongLine waits for the bytes of a long line: that many again are its copies while it is read and decoded.
func (im *importer) reserveLongLine() error {
	ctx, cancel := context.WithTimeout(im.ctx, importTimeout)
	defer cancel()
	release, ok := im.s.cfg.Budget.Acquire(ctx, im.c.Principal(), 3*importLine)
	if !ok {
		return oplog.Errorf(oplog.Unavailable, "too many large requests at once; retry")
	}
	im.release = release
	return nil
}

// releaseLongLine gives back the share of a long line.
func (im *importer) releaseLongLine() {
	if im.release != nil {
		im.release()
		im.release, im.long = nil, nil
	}
}

var (
	lineFields  = field.Of(reflect.TypeFor[api.ImportedLine]())
	draftFields = field.Of(reflect.TypeFor[api.Draft]())
)

func (im *importer) line(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if err := field.UTF8(b); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s", err)
	}
	var f map[string]json.RawMessage
	if err := json.Unmarshal(b, &f); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s", field.Malformed("not a JSON object", err))
	}
	var l api.ImportedLine
	if err := lineFields.Decode(&l, f, true); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s", err)
	}
	switch l.Type {
	case "memory":
		var d api.Draft
		// files hold what other servers took; a date that cannot be read would become today
		if err := draftFields.Decode(&d, f, true); err != nil {
			return oplog.Errorf(oplog.Invalid, "%s", err)
		}
		d.Key, d.RID, d.Owner, d.Speaker, d.Path = "", l.RID, l.Owner, l.Speaker, l.Path
		if absent := f["extractor"] == nil || string(f["extractor"]) == "null"; absent {
			d.Namespace = strings.TrimSpace(d.Namespace)
		} else if err := json.Unmarshal(b, &d.History); err != nil {
			return oplog.Errorf(oplog.Invalid, "%s", field.Malformed("not a JSON object", err))
		} else if string(f["metadata"]) == "null" { // not an empty object, which is the default
			d.Metadata = nil
		}
		im.importStamp(&d, &l)
		if err := im.identify(&d, l.External); err != nil {
			return err
		}
		im.drafts = append(im.drafts, draftLine{d, im.done.Lines})
	case "edge":
		if l.Src == "" || l.Dst == "" || l.RelType == "" {
			return oplog.Errorf(oplog.Invalid, "an edge needs src, dst and rel_type")
		}
		if err := oplog.CheckNames(l.Src, l.Dst, l.RelType, l.EdgeID); err != nil {
			return err
		}
		im.edges = append(im.edges,
			edgeLine{&oplog.Relate{ID: l.EdgeID, Src: l.Src, Dst: l.Dst, Type: l.RelType, Weight: l.Weight,
				At:    cmp.Or(timeOrZero(l.Updated.Time), oplog.At(im.s.now())),
				Since: timeOrZero(l.Created.Time)}, im.done.Lines})
	default:
		return oplog.Errorf(oplog.Invalid, "type %q: want memory or edge", l.Type)
	}
	im.bytes += len(b)
	return nil
}

// waitForRate counts rows as operations of the importer's caller. An import over its rate waits, and its sender with
// it, since nothing is read meanwhile; after importTimeout it is rejected.
func (im *importer) waitForRate(rows int) (api.Caller, error) {
	c := im.c
	c.Counted = 0
	patience := time.NewTimer(importTimeout)
	defer patience.Stop()
	for {
		c, err := im.s.access.Count(c, rows)
		var slow *access.Limited
		if !errors.As(err, &slow) {
			return c, err
		}
		select {
		case <-time.After(slow.Wait):
		case <-patience.C:
			return c, &api.Refusal{Code: "rate_limited", Err: oplog.Errorf(oplog.Unavailable, "%s", slow)}
		case <-im.ctx.Done():
			return c, im.ctx.Err()
		}
	}
}

func (im *importer) flush() error {
	if len(im.drafts)+len(im.edges) == 0 {
		return nil
	}
	c, err := im.waitForRate(len(im.drafts) + len(im.edges))
	if err != nil {
		return err
	}
	drafts, edges := im.drafts, im.edges
	im.drafts, im.edges, im.bytes = nil, nil, 0
	if drafts, err = im.skipPresent(drafts); err != nil {
		return err
	}
	if edges, err = im.skipPresentEdges(edges); err != nil {
		return err
	}
	err = storeBisecting(drafts, func(part []draftLine) error { return im.storeDrafts(c, part) }, isLineError,
		func(d draftLine, err error) error { return im.reject(d.line, err) })
	if err == nil {
		err = storeBisecting(edges, func(part []edgeLine) error { return im.storeEdges(c, part) }, isLineError,
			func(e edgeLine, err error) error { return im.reject(e.line, err) })
	}
	im.releaseLongLine()
	return err
}

func mergeSorted(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(a, b...))))
}

func (im *importer) batchKey() string {
	if im.key == "" {
		return ""
	}
	im.batches++
	return fmt.Sprintf("%s/import/%d", im.key, im.batches)
}

// importError returns an error with the line at which an import stopped, and the number of rows stored before it.
func (im *importer) importError(err error) error {
	if im.ctx.Err() != nil { // its caller's rights may have ended
		err = context.Cause(im.ctx)
	}
	var e *oplog.Error
	if !errors.As(err, &e) {
		return err
	}
	line := im.done.Lines
	if of, ok := errors.AsType[*lineError](err); ok {
		line = of.line
	}
	said := oplog.Errorf(e.Kind, "line %d: %s (%s and %s were imported)", line, e.Text,
		api.Many(im.done.Memories, "memory", "memories"), api.Many(im.done.Edges, "relation", "relations"))
	if e.Kind == oplog.NotLeader || errors.Is(err, api.ErrNoLeader) { // the client is told where to go
		return said
	}
	out := &api.Refusal{Err: said,
		More: map[string]any{"line": line, "reason": e.Text, "memories": im.done.Memories, "edges": im.done.Edges}}
	if refused, ok := errors.AsType[*api.Refusal](err); ok {
		out.Code = refused.Code
	}
	return out
}
