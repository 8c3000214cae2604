package gateway

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A Dialect is the API of another service, at its own paths. Its clients are let in, counted and bounded as those of
// the table's rows are, and so are their bodies and answers; its writes are always passed on, for its clients know no
// cluster.
type Dialect interface {
	// Name is the dialect's name in metrics and in the slow log.
	Name() string
	// Routes returns for each pattern of the mux the operation whose right a caller needs before its body is read.
	Routes() map[string]*api.Op
	// Serve answers a request. decode reads the body into a pointer, and leaves it as it is where there is none:
	// JSON, or a form into url.Values.
	Serve(r *http.Request, c api.Caller, decode func(to any) error) (status int, answer any, err error)
	// Refuse returns the status and the body of a rejection that has another status and code on the table's paths.
	Refuse(e *oplog.Error, status int, code string) (int, any)
}

// A dialect's answer holds 8 MiB of memories at most: as rows, as objects of the dialect and as text.
const (
	dialectAnswer = 8 << 20
	dialectCopies = 4
)

func (g *Gateway) serveDialect(w http.ResponseWriter, r *http.Request, d Dialect, op *api.Op) {
	start := time.Now()
	q := &request{g: g, w: w, r: r, keys: true}
	defer func() { q.c.Hold.Release() }() // when the answer is sent
	defer func() { g.cfg.Metrics.Handled(d.Name(), time.Since(start)) }()
	w.Header().Set("Cache-Control", "no-store") // memories and tokens, for this client alone
	status, answer, err := g.askDialect(q, d, op)
	if err != nil {
		var f failure
		var e *oplog.Error
		status, f, e = g.reject(w, err)
		status, answer = d.Refuse(e, status, f.Code)
	}
	writeJSON(w, status, answer)
}

// askDialect checks a request as answer does.
func (g *Gateway) askDialect(q *request, d Dialect, op *api.Op) (status int, answer any, err error) {
	done, err := g.identify(q, op)
	defer done()
	defer func() { err = q.ended(err) }()
	var body []byte
	release := func() {}
	if err == nil && q.r.ContentLength != 0 {
		limit := int64(maxSmall)
		switch {
		case op.Scope == "":
			limit = maxStranger
		case op.Large:
			limit = maxBody
		}
		body, release, err = q.bodyOf(limit)
	}
	defer release()
	if err != nil {
		rejectUnread(q.w, q.r)
		return 0, nil, err
	}
	if q.c.Surface = d.Name(); op.Scope != "" {
		if err := q.acquireSlot(); err != nil {
			return 0, nil, err
		}
		defer q.idle()
		q.c.Forward = true
		q.c.Hold.Narrow(dialectAnswer, dialectCopies)
	}
	if q.param("min_index") != "" {
		ctx, cancel := context.WithTimeout(q.r.Context(), behindWait)
		defer cancel()
		q.r = q.r.WithContext(ctx)
	}
	return d.Serve(q.r, q.c, func(to any) error {
		if form, ok := to.(*url.Values); ok {
			return decodeForm(q.r, body, form)
		}
		return g.decodeInto(q, body, to)
	})
}

func decodeForm(r *http.Request, b []byte, to *url.Values) (err error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return oplog.Errorf(oplog.Invalid, "Expected request with `Content-Type: application/x-www-form-urlencoded`")
	}
	if *to, err = url.ParseQuery(string(b)); err != nil {
		return oplog.Errorf(oplog.Invalid, "body is not a form")
	}
	return nil
}

// tokenOf is the token that a request shows; dialects' clients have more ways to show it.
func (q *request) tokenOf() (token string, ok bool) {
	said := q.r.Header.Get("Authorization")
	if token, ok = strings.CutPrefix(said, "Bearer "); ok || !q.keys {
		return token, ok
	}
	if token, ok = strings.CutPrefix(said, "Token "); !ok && said == "" {
		token = q.r.Header.Get("X-API-Key")
		ok = token != ""
	}
	return token, ok
}
