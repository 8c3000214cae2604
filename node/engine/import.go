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
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// Bounds of one batch of an import, which is one entry of the log.
const (
	importRows     = 200
	importBytes    = 1 << 20
	importLine     = 16 << 20 // a memory's text, metadata and revisions at their largest, as JSON
	importPatience = time.Minute
	maxImports     = 16 // shared among principals
)

// importer stores what it reads, batch by batch: nothing is read ahead of what is stored, so the sender waits in its
// own socket.
type importer struct {
	ctx     context.Context
	s       *Service
	c       api.Caller
	key     string // of the whole import; each batch has its own below it
	keep    bool   // ids that are taken are refused
	batches int
	bytes   int
	drafts  []api.Draft
	edges   []*oplog.Relate
	done    api.Imported

	in      *bufio.Reader
	long    []byte // a line that is longer than the reader's buffer
	release func() // gives back the share of a line over importBytes, when it is stored; nil for none
}

func (s *Service) importLines(ctx context.Context, c api.Caller, q *api.ImportRequest) (*api.Imported, error) {
	done, ok := s.load.imports.Try(c.Principal(), 1)
	if !ok {
		return nil, oplog.Errorf(oplog.Unavailable, "%d imports are under way; retry later", s.load.imports.Used())
	}
	defer done()
	im := importer{ctx: ctx, s: s, c: c, key: q.Key, keep: q.Keep, in: bufio.NewReaderSize(q.Lines, 64<<10)}
	defer im.forgetLong()
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
			err = im.line(line)
		}
		if err != nil {
			return nil, im.broken(err)
		}
	}
	if err := im.flush(); err != nil {
		return nil, im.broken(err)
	}
	return &im.done, nil
}

// next reads a line, which is valid until the next one; io.EOF behind the last.
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
			if err := im.share(); err != nil {
				return nil, err
			}
		}
	}
}

// share waits for the bytes of a long line: that many again are its copies while it is read and decoded.
func (im *importer) share() error {
	ctx, cancel := context.WithTimeout(im.ctx, importPatience)
	defer cancel()
	release, ok := im.s.cfg.Budget.Acquire(ctx, im.c.Principal(), 3*importLine)
	if !ok {
		return oplog.Errorf(oplog.Unavailable, "too many large requests at once; retry")
	}
	im.release = release
	return nil
}

// forgetLong gives back the share of a long line.
func (im *importer) forgetLong() {
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
	var f map[string]json.RawMessage
	if err := json.Unmarshal(b, &f); err != nil {
		return oplog.Errorf(oplog.Invalid, "not a JSON object: %s", field.Malformed(err))
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
			return oplog.Errorf(oplog.Invalid, "%s", field.Malformed(err))
		} else if string(f["metadata"]) == "null" { // not an empty object, which is the default
			d.Metadata = nil
		}
		im.keepStamp(&d, &l)
		im.drafts = append(im.drafts, d)
	case "edge":
		if l.Src == "" || l.Dst == "" || l.RelType == "" {
			return oplog.Errorf(oplog.Invalid, "an edge needs src, dst and rel_type")
		}
		if err := names(l.Src, l.Dst, l.RelType, l.EdgeID); err != nil {
			return err
		}
		im.edges = append(im.edges, &oplog.Relate{ID: l.EdgeID, Src: l.Src, Dst: l.Dst, Type: l.RelType, Weight: l.Weight, At: cmp.Or(atOrNone(l.Updated.Time), oplog.At(time.Now())),
			Since: atOrNone(l.Created.Time)})
	default:
		return oplog.Errorf(oplog.Invalid, "type %q: want memory or edge", l.Type)
	}
	if im.bytes += len(b); im.bytes < importBytes && len(im.drafts)+len(im.edges) < im.s.access.AtOnce(im.c, importRows) {
		return nil
	}
	return im.flush()
}

// counted counts rows as operations of the importer's caller. An import over its rate waits, and its sender with it,
// since nothing is read meanwhile; after importPatience it is refused.
func (im *importer) counted(rows int) (api.Caller, error) {
	c := im.c
	c.Counted = 0
	patience := time.NewTimer(importPatience)
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
	c, err := im.counted(len(im.drafts) + len(im.edges))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(im.drafts, func(d api.Draft) bool { return d.Path != "" }) {
		if err := im.flushKeyed(c); err != nil {
			return err
		}
	} else if len(im.drafts) > 0 {
		if err := im.s.checkQuota(c, len(im.drafts)); err != nil {
			return err
		}
		key := im.batchKey()
		r, err := anew(im, im.freeMemories, func() (stored, error) { return im.s.store(im.ctx, c, key, im.drafts...) })
		if err != nil {
			return err
		}
		im.done.Memories, im.done.Index = im.done.Memories+len(r.RIDs), field.Token(r.Index)
		im.done.Redacted = merged(im.done.Redacted, r.Redacted)
	}
	if len(im.edges) > 0 {
		key := im.batchKey()
		w, err := anew(im, im.freeEdges, func() (Written, error) {
			return im.s.propose(im.ctx, c, write{key: key, ops: each(im.edges, func(e *oplog.Relate) oplog.Op { return e })})
		})
		if err != nil {
			return err
		}
		im.done.Edges, im.done.Index = im.done.Edges+len(im.edges), field.Token(w.Index)
	}
	im.drafts, im.edges, im.bytes = nil, nil, 0
	im.forgetLong()
	return nil
}

// flushKeyed stores a batch of which some memories have a key, in its order. A key that is taken stays with its memory,
// which is corrected unless it is as new.
func (im *importer) flushKeyed(c api.Caller) error {
	k := &keyed{s: im.s, c: c, newer: true}
	seen := map[string]bool{}
	for _, d := range im.drafts {
		if d.Path == "" {
			k.steps = append(k.steps, api.BatchStep{Op: store, Memory: &d})
			continue
		}
		at := orDefault(d.Namespace) + d.Path
		if seen[at] { // two lines of one key: the later one is put over the earlier
			if err := im.settle(k); err != nil {
				return err
			}
			k, seen = &keyed{s: im.s, c: c, newer: true}, map[string]bool{}
		}
		seen[at] = true
		k.steps = append(k.steps, api.BatchStep{Op: "put", Namespace: d.Namespace, Path: d.Path, Memory: &d})
	}
	return im.settle(k)
}

func (im *importer) settle(k *keyed) error {
	if len(k.steps) == 0 {
		return nil
	}
	w, err := keyedWrite(im.batchKey(), k.steps)
	if err != nil {
		return err
	}
	free := func(v *state.View) {
		im.freeRIDs(v, each(k.steps, func(st api.BatchStep) *api.Draft { return st.Memory }))
	}
	done, err := anew(im, free, func() (settled, error) { return im.s.settle(im.ctx, k, w) })
	if err != nil {
		return err
	}
	for i := range k.steps {
		if k.result(i, &done).Changed {
			im.done.Memories++
		} else {
			im.done.Kept++
		}
	}
	im.done.Index, im.done.Redacted = field.Token(done.Index), merged(im.done.Redacted, k.redacted)
	return nil
}

// anew stores a batch after free has given its rows ids that are not taken, and again when another import took one
// meanwhile: this node has applied that one by the time it knows of the refusal.
func anew[T any](im *importer, free func(*state.View), store func() (T, error)) (T, error) {
	for tries := 0; ; tries++ {
		if err := im.s.state.Read(func(v *state.View) error { free(v); return nil }); err != nil {
			var none T
			return none, err
		}
		stored, err := store()
		if im.keep || tries == 3 || !errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
			return stored, err
		}
	}
}

// freeMemories is freeRIDs for the batch's memories.
func (im *importer) freeMemories(v *state.View) {
	list := make([]*api.Draft, len(im.drafts))
	for i := range im.drafts {
		list[i] = &im.drafts[i]
	}
	im.freeRIDs(v, list)
}

// freeRIDs gives memories without an id new ones, and those whose id is taken, unless the import keeps ids.
func (im *importer) freeRIDs(v *state.View, list []*api.Draft) {
	seen := map[string]bool{}
	for _, d := range list {
		if _, taken := v.Seq(im.c.DB, d.RID); d.RID == "" || !im.keep && (taken || seen[d.RID]) {
			d.RID = oplog.NewID()
		}
		seen[d.RID] = true
	}
}

// freeEdges does the same for relations. One that is there already keeps its id, whatever the line says.
func (im *importer) freeEdges(v *state.View) {
	seen := map[string]bool{}
	for _, e := range im.edges {
		was, taken := v.Edge(im.c.DB, e.ID)
		taken = taken && (was.Src != e.Src || was.Dst != e.Dst || was.Type != e.Type)
		if e.ID == "" || !im.keep && (taken || seen[e.ID]) {
			e.ID = oplog.NewID()
		}
		seen[e.ID] = true
	}
}

func merged(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(a, b...))))
}

func (im *importer) batchKey() string {
	if im.key == "" {
		return ""
	}
	im.batches++
	return fmt.Sprintf("%s/import/%d", im.key, im.batches)
}

// broken says at which line an import stopped, and how many rows before it are stored.
func (im *importer) broken(err error) error {
	if im.ctx.Err() != nil { // its caller's rights may have ended
		err = context.Cause(im.ctx)
	}
	var e *oplog.Error
	if !errors.As(err, &e) {
		return err
	}
	said := oplog.Errorf(e.Kind, "line %d: %s (%d memories and %d relations were imported)", im.done.Lines, e.Text, im.done.Memories, im.done.Edges)
	var refused *api.Refusal
	if errors.As(err, &refused) {
		return &api.Refusal{Code: refused.Code, Err: said}
	}
	return said
}
