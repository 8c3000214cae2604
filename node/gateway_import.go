package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

var transferRoutes = []route{
	{name: "import", method: "POST", path: "/v1/import", scope: api.Write, write: true, stream: true, handle: httpImport,
		summary: "Take NDJSON as export gives it; memories get new ids. A line is read when those before it are stored. With key, a second try stores nothing twice",
		query:   "key:string", result: "lines:integer! memories:integer! edges:integer! log_index:integer!"},
}

// What an import takes at a time: one entry of the log.
const (
	importRows  = 200
	importBytes = 1 << 20
	maxImports  = 16
)

// importer stores what it reads, batch by batch: nothing is read ahead of what is stored, so the sender waits in its
// own socket.
type importer struct {
	ctx     context.Context
	g       *gateway
	c       api.Caller
	key     string // of the whole import; each batch has its own below it
	batches int
	bytes   int
	drafts  []Draft
	edges   []oplog.Op
	done    imported
}

type imported struct {
	Lines    int         `json:"lines"`
	Memories int         `json:"memories"`
	Edges    int         `json:"edges"`
	Index    oplog.Index `json:"log_index"`
}

func httpImport(g *gateway, q *request) (any, error) {
	select {
	case g.imports <- struct{}{}:
		defer func() { <-g.imports }()
	default:
		return nil, oplog.Errorf(oplog.Unavailable, "%d imports are under way; retry later", maxImports)
	}
	im := importer{ctx: q.r.Context(), g: g, c: q.c, key: q.param("key")}
	if len(im.key) > field.MaxKey-32 {
		return nil, oplog.Errorf(oplog.Invalid, "key: at most %d bytes", field.MaxKey-32)
	}
	rc := http.NewResponseController(q.w)
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	sc := bufio.NewScanner(patient{q.r.Body, rc})
	sc.Buffer(make([]byte, 64<<10), maxSmall)
	for sc.Scan() {
		im.done.Lines++
		if err := im.line(sc.Bytes()); err != nil {
			return nil, im.broken(err)
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, im.broken(oplog.Errorf(oplog.TooLarge, "line is over %d bytes", maxSmall))
	} else if err != nil {
		return nil, im.broken(oplog.Errorf(oplog.Invalid, "body broke off"))
	}
	if err := im.flush(); err != nil {
		return nil, im.broken(err)
	}
	_ = rc.SetWriteDeadline(time.Now().Add(answerTimeout)) // what was stored is stored, whether it is heard of or not
	return im.done, nil
}

// patient is a body whose sender may take bodyTimeout for every piece.
type patient struct {
	r  io.Reader
	rc *http.ResponseController
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // a connection that has none is a test's
	return p.r.Read(b)
}

var draftFields = field.Of(reflect.TypeFor[api.Draft]())

func (im *importer) line(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	var f fields
	if err := json.Unmarshal(b, &f); err != nil {
		return oplog.Errorf(oplog.Invalid, "not a JSON object: %s", malformed(err))
	}
	switch kind := f.str("type", "memory"); kind {
	case "memory":
		var d Draft
		if err := draftFields.Decode(&d, f, true); err != nil { // files hold what other servers took; a date that cannot be read would become today
			return oplog.Errorf(oplog.Invalid, "%s", err)
		}
		if _, err := f.must("text"); err != nil {
			return err
		}
		d.Key, d.Namespace = "", strings.TrimSpace(d.Namespace)
		im.drafts = append(im.drafts, d)
	case "edge":
		op := &oplog.Relate{ID: oplog.NewID(), Src: f.str("src", ""), Dst: f.str("dst", ""), Type: f.str("rel_type", ""), Weight: f.num("weight", 1), At: oplog.At(time.Now())}
		if op.Src == "" || op.Dst == "" || op.Type == "" {
			return oplog.Errorf(oplog.Invalid, "an edge needs src, dst and rel_type")
		}
		if err := names(op.Src, op.Dst, op.Type); err != nil {
			return err
		}
		im.edges = append(im.edges, op)
	default:
		return oplog.Errorf(oplog.Invalid, "type %q: memory or edge", kind)
	}
	if im.bytes += len(b); im.bytes < importBytes && len(im.drafts)+len(im.edges) < im.g.s.access.AtOnce(im.c, importRows) {
		return nil
	}
	return im.flush()
}

// counted counts rows as operations of the importer's caller. An import over its rate is slowed down, as its sender waits in its own
// socket; it is refused when that takes longer than a sender may.
func (im *importer) counted(rows int) (api.Caller, error) {
	c := im.c
	c.Counted = 0
	patience := time.NewTimer(bodyTimeout)
	defer patience.Stop()
	for {
		c, err := im.g.s.access.Count(c, rows)
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
	if len(im.drafts) > 0 {
		if err := im.g.s.room(c, len(im.drafts)); err != nil {
			return err
		}
		r, err := im.g.s.Remember(im.ctx, c, im.batchKey(), im.drafts...)
		if err != nil {
			return err
		}
		im.done.Memories, im.done.Index = im.done.Memories+len(r.RIDs), r.Index
	}
	if len(im.edges) > 0 {
		w, err := im.g.s.Commit(im.ctx, c, im.batchKey(), im.edges...)
		if err != nil {
			return err
		}
		im.done.Edges, im.done.Index = im.done.Edges+len(im.edges), w.Index
	}
	im.drafts, im.edges, im.bytes = nil, nil, 0
	return nil
}

func (im *importer) batchKey() string {
	if im.key == "" {
		return ""
	}
	im.batches++
	return fmt.Sprintf("%s/import/%d", im.key, im.batches)
}

// broken says where an import stopped, and what is stored all the same.
func (im *importer) broken(err error) error {
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
