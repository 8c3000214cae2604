package gateway

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A Dialect is the API of another service, at its own paths. The gateway authenticates, counts and limits its
// requests as it does for the table's rows. Its writes are always forwarded, because its clients do not know of a
// cluster.
type Dialect interface {
	// Name returns the dialect's name in metrics and in the slow log.
	Name() string
	// Routes maps each pattern of the mux to an operation. A caller needs the right to that operation before its body
	// is read.
	Routes() map[string]*api.Op
	// Serve answers a request. decode decodes the body into a pointer: a form into *url.Values, JSON into any other
	// type. Without a body it leaves the value as it is.
	Serve(r *http.Request, c api.Caller, decode func(to any) error) (status int, answer any, err error)
	// Reject returns the dialect's status and body for a rejection, given the ones that the table's paths would have.
	Reject(e *oplog.Error, status int, code string) (int, any)
}

// A dialect's answer holds at most 8 MiB of memories. They exist in up to four copies: as rows, as objects of the
// dialect and as text.
const (
	maxDialectAnswer = 8 << 20
	dialectCopies    = 4
)

func (g *Gateway) serveDialect(w http.ResponseWriter, r *http.Request, d Dialect, op *api.Op) {
	start := time.Now()
	q := &request{g: g, w: w, r: r, apiKeys: true}
	defer func() { q.c.Hold.Release() }() // after the answer is sent
	defer func() { g.cfg.Metrics.Handled(d.Name(), time.Since(start)) }()
	w.Header().Set("Cache-Control", "no-store") // the answer may hold memories and tokens
	status, answer, err := g.answerDialect(q, d, op)
	if err != nil {
		var f failure
		var e *oplog.Error
		status, f, e = g.reject(w, err)
		status, answer = d.Reject(e, status, f.Code)
	}
	writeJSON(w, status, answer)
}

// answerDialect checks a request as answer does, and lets the dialect serve it.
func (g *Gateway) answerDialect(q *request, d Dialect, op *api.Op) (status int, answer any, err error) {
	done, err := g.identify(q, op)
	defer done()
	defer func() { err = q.causeOf(err) }()
	var body []byte
	release := func() {}
	if err == nil && q.r.ContentLength != 0 {
		limit := int64(maxSmallBody)
		switch {
		case op.Scope == "":
			limit = maxAnonymousBody
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
		defer q.releaseSlot()
		q.c.Forward = true
		q.c.Hold.Narrow(maxDialectAnswer, dialectCopies)
	}
	return d.Serve(q.r, q.c, func(to any) error {
		if form, ok := to.(*url.Values); ok {
			return decodeForm(q.r, body, form)
		}
		return g.decodeInto(q, body, to)
	})
}

// decodeForm decodes a URL-encoded form.
func decodeForm(r *http.Request, b []byte, to *url.Values) (err error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return oplog.Errorf(oplog.Invalid, "Expected request with `Content-Type: application/x-www-form-urlencoded`")
	}
	if *to, err = url.ParseQuery(string(b)); err != nil {
		return oplog.Errorf(oplog.Invalid, "body is not a form")
	}
	return nil
}

// bearerToken returns the token of a request. Clients of dialects may also use the scheme Token or the header
// X-API-Key.
func (q *request) bearerToken() (token string, ok bool) {
	header := q.r.Header.Get("Authorization")
	if token, ok = strings.CutPrefix(header, "Bearer "); ok || !q.apiKeys {
		return token, ok
	}
	if token, ok = strings.CutPrefix(header, "Token "); !ok && header == "" {
		token = q.r.Header.Get("X-API-Key")
		ok = token != ""
	}
	return token, ok
}
