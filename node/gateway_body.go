package node

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/large"
)

// fields is a request's JSON object, checked by its description (see check). Where the node is lenient, as the first gateway of
// this protocol was, a field of another type counts as absent, and unknown ones and numbers out of range are let through: the
// methods below take a default for what they cannot read. A date that cannot be read is always refused.
type fields map[string]json.RawMessage

// check holds a request to its route's description.
func (q *request) check(rt route, lenient bool) error {
	if err := rt.params.Values(q.r.URL.Query(), lenient); err != nil {
		return badParam(rt, err)
	}
	return q.body.check(rt.fields, lenient)
}

// paramCodes are the codes of parameters that have one of their own.
var paramCodes = map[string]string{"min_seq": "invalid_min_seq", "min_index": "invalid_min_seq", "events from": "invalid_cursor"}

// badParam is a parameter of the query that cannot be taken for anything.
func badParam(rt route, err error) error {
	code := "invalid_query_parameter"
	var e *field.Error
	if errors.As(err, &e) {
		code = cmp.Or(paramCodes[e.Field], paramCodes[rt.name+" "+e.Field], code)
	}
	return &statusError{status: http.StatusBadRequest, code: code, err: oplog.Errorf(oplog.Invalid, "%s", err)}
}

// check holds an object to its description.
func (f fields) check(o field.Object, lenient bool) error {
	if err := o.Check(f, lenient); err != nil {
		return oplog.Errorf(oplog.Invalid, "%s", err)
	}
	return nil
}

// How much a body may hold. Bodies of budgeted bytes and more wait for their share of the byte budget before they are read.
const (
	maxSmall    = 4 << 20 // a memory's text and metadata at their largest, as JSON
	maxBody     = 64 << 20
	budgeted    = 64 << 10
	bodyTimeout = time.Minute
)

// readBody reads the object, if there is a body. What it returns gives back the body's share of the byte budget, when the request
// is answered.
func (g *gateway) readBody(q *request, rt route) (release func(), err error) {
	if q.r.Body == nil || q.r.Method == http.MethodGet {
		return func() {}, nil
	}
	limit := int64(maxSmall)
	if rt.large {
		limit = maxBody
	}
	b, release, err := g.bodyOf(q.w, q.r, limit)
	if err == nil {
		err = g.decodeBody(q, b)
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// bodyOf reads a body of at most limit bytes. release may be called in any case.
func (g *gateway) bodyOf(w http.ResponseWriter, r *http.Request, limit int64) (b []byte, release func(), err error) {
	release = func() {}
	size := r.ContentLength
	if size < 0 {
		size = limit
	}
	if budgeted <= size && size <= limit { // of a longer one nothing is read
		ctx, cancel := context.WithTimeout(r.Context(), bodyTimeout)
		defer cancel()
		var ok bool
		if release, ok = g.s.bodies.Acquire(ctx, int(size)); !ok {
			return nil, func() {}, oplog.Errorf(oplog.Unavailable, "too many large requests at once; retry")
		}
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // a connection that has none is a test's
	b, err = large.Body(w, r, limit)
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return b, release, &statusError{status: http.StatusRequestEntityTooLarge, code: "too_large", err: oplog.Errorf(oplog.TooLarge, "body is over %d bytes", limit)}
	}
	if err != nil {
		return b, release, &statusError{status: http.StatusBadRequest, code: "invalid_body", err: oplog.Errorf(oplog.Invalid, "body broke off")}
	}
	_ = rc.SetReadDeadline(time.Time{}) // the server watches the connection from here on
	return b, release, nil
}

// lingerTimeout is what a refused client has to send what it announced, which the gateway discards, and to read the answer.
const lingerTimeout = time.Second

// patient is a body whose sender may take bodyTimeout for every piece.
type patient struct {
	r  io.Reader
	rc *http.ResponseController
}

func (p patient) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // a connection that has none is a test's
	return p.r.Read(b)
}

// leaveUnread answers without having read the body: the connection ends with the answer, and does not wait for the rest.
func leaveUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor > 1 { // HTTP/2 ends the stream alone
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout)) // a connection that has none is a test's
}

func (g *gateway) decodeBody(q *request, b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if t, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type")); err != nil || t != "application/json" && !strings.HasSuffix(t, "+json") {
		return &statusError{status: http.StatusUnsupportedMediaType, code: "invalid_body", err: oplog.Errorf(oplog.Invalid, "Expected request with `Content-Type: application/json`")}
	}
	if err := g.s.heavy.Decode(q.r.Context(), len(b), func() error { return json.Unmarshal(b, &q.body) }); err != nil && q.r.Context().Err() != nil {
		return oplog.Errorf(oplog.Unavailable, "the client left")
	} else if err != nil {
		return &statusError{status: http.StatusBadRequest, code: "invalid_body", err: oplog.Errorf(oplog.Invalid, "body is not a JSON object: %s", field.Malformed(err))}
	}
	return nil
}

// raw is a field's JSON; nil for null and for none.
func (f fields) raw(name string) json.RawMessage {
	v := f[name]
	if string(v) == "null" {
		return nil
	}
	return v
}

func decoded[T any](f fields, name string) (v T, ok bool) {
	raw := f.raw(name)
	return v, raw != nil && json.Unmarshal(raw, &v) == nil
}

func (f fields) str(name, def string) string {
	if s, ok := decoded[string](f, name); ok {
		return s
	}
	return def
}

// must is a string field that has to be there.
func (f fields) must(name string) (string, error) {
	s, ok := decoded[string](f, name)
	if !ok {
		return "", oplog.Errorf(oplog.Invalid, "missing '%s'", name)
	}
	return s, nil
}

func (f fields) num(name string, def float64) float64 {
	if v, ok := decoded[float64](f, name); ok && !math.IsInf(v, 0) {
		return v
	}
	return def
}

// param is a parameter of the query, blank for none.
func (q *request) param(name string) string { return q.r.URL.Query().Get(name) }

// count is a whole number of the query; def for none and for what is no number.
func (q *request) count(name string, def int) int {
	if n, err := strconv.Atoi(q.param(name)); err == nil && n >= 0 {
		return n
	}
	return def
}

// behindWait is how long a read waits for an index before its client is told to ask elsewhere.
const behindWait = 2 * time.Second
