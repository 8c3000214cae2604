package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/large"
)

// Limits of bodies. After the first piece of a body (large.Piece), the rest waits for its share of the byte budget
// before it is read. So a client that sends nothing takes no share.
const (
	maxSmallBody = 4 << 20 // fits the largest text and metadata of a memory, as JSON
	maxBody      = 64 << 20

	maxAnonymousBody = 16 << 10 // for operations that need no token

	bodyTimeout  = time.Minute      // for a whole body
	pieceTimeout = 10 * time.Second // for each piece of it
)

// readBody reads and decodes the JSON object in the body, if there is one. The caller releases the body's share of
// the byte budget after the answer.
func (g *Gateway) readBody(q *request, op *api.Op) (release func(), err error) {
	if q.r.Body == nil || q.r.Method == http.MethodGet {
		return func() {}, nil
	}
	limit := int64(maxSmallBody)
	if op.Large {
		limit = maxBody
	}
	b, release, err := q.bodyOf(limit)
	if err == nil {
		err = g.decodeInto(q, b, &q.body)
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// bodyOf reads a body of at most limit bytes. The caller may call release in any case.
func (q *request) bodyOf(limit int64) (b []byte, release func(), err error) {
	release = func() {}
	size := q.r.ContentLength
	if size < 0 {
		size = limit
	}
	over := oplog.Errorf(oplog.TooLarge, "body is over %d bytes", limit)
	if size > limit { // before any byte is read
		return nil, release, over
	}
	rc := http.NewResponseController(q.w)
	until := time.Now().Add(bodyTimeout)
	body := large.Paced(http.MaxBytesReader(q.w, q.r.Body, limit), func() error {
		next := time.Now().Add(pieceTimeout)
		if next.After(until) {
			next = until
		}
		_ = rc.SetReadDeadline(next) // only tests' connections lack deadlines
		return nil
	})
	b, err = large.Read(nil, io.LimitReader(body, large.Piece), min(size, large.Piece))
	if err == nil && len(b) == large.Piece {
		ctx, cancel := context.WithTimeout(q.r.Context(), bodyTimeout)
		defer cancel()
		share, ok := q.g.cfg.Budget.Acquire(ctx, q.c.Principal(), int(size))
		if !ok {
			return nil, release, oplog.Errorf(oplog.Unavailable, "too many large requests at once; retry")
		}
		release = share
		until = time.Now().Add(bodyTimeout)
		b, err = large.Read(b, body, size-large.Piece)
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return b, release, over
	}
	if err != nil {
		return b, release, invalidBody(oplog.Errorf(oplog.Invalid, "the request body ended early"))
	}
	_ = rc.SetReadDeadline(time.Time{}) // from here on the server watches the connection
	return b, release, nil
}

// lingerTimeout bounds how long a rejected client may send the rest of its body, which is discarded, before the
// connection is closed.
const lingerTimeout = time.Second

// rejectUnread prepares an answer before the body is read. The connection is closed after it, without waiting for the
// rest of the body.
func rejectUnread(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 || r.ProtoMajor > 1 { // HTTP/2 ends only the stream
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout)) // only tests' connections lack deadlines
}

// decodeInto decodes a body, if it is not empty.
func (g *Gateway) decodeInto(q *request, b []byte, to any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if t, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type")); err != nil ||
		t != "application/json" && !strings.HasSuffix(t, "+json") {
		return invalidBody(errNotJSON)
	}
	var garbled error
	err := g.cfg.Turns.Decode(q.r.Context(), len(b), func() error {
		if garbled = field.UTF8(b); garbled != nil {
			return garbled
		}
		return json.Unmarshal(b, to)
	})
	switch coding := q.r.Header.Get("Content-Encoding"); {
	case err != nil && q.r.Context().Err() != nil:
		return oplog.Errorf(oplog.Unavailable, "the client left")
	case err != nil && coding != "":
		return invalidBody(oplog.Errorf(oplog.Invalid, "the body is not JSON: send it without Content-Encoding %.40q", coding))
	case garbled != nil:
		return invalidBody(oplog.Errorf(oplog.Invalid, "%s", garbled))
	case err != nil:
		return invalidBody(oplog.Errorf(oplog.Invalid, "%s", field.Malformed("body is not a JSON object", err)))
	}
	return nil
}

var errNotJSON = &oplog.Error{Kind: oplog.Invalid, Text: "Expected request with `Content-Type: application/json`"}

func invalidBody(err error) error { return &api.Refusal{Code: "invalid_body", Err: err} }

// param returns a query parameter, or "".
func (q *request) param(name string) string { return q.r.URL.Query().Get(name) }

// indexWaitTimeout bounds how long a read waits for its min_index before the client is told to ask another node.
const indexWaitTimeout = 2 * time.Second
