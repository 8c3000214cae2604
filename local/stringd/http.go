package stringd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/wire/large"
)

// httpError is an error answer: a status and a JSON object.
type httpError struct {
	status int
	body   kit.Object
}

// Error returns the text for clients of the command language.
func (r *httpError) Error() string { return fmt.Sprint(r.body[1]) }

func httpErrorf(status int, format string, args ...any) *httpError {
	return &httpError{status, kit.Object{"error", fmt.Sprintf(format, args...)}}
}

// route serves a request. A returned error becomes the answer.
type route func(s *Server, w http.ResponseWriter, r *http.Request) error

// replies makes a route of a handler that returns a JSON object.
func replies(serve func(s *Server, w http.ResponseWriter, r *http.Request) (kit.Object, error)) route {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		answer, err := serve(s, w, r)
		if err == nil {
			reply(w, http.StatusOK, answer)
		}
		return err
	}
}

// routes lists the endpoints of the protocol.
var routes = []struct {
	pattern string
	serve   route
}{
	{"POST /exec", (*Server).exec},
	{"GET /health", replies((*Server).health)},
	{"POST /shutdown", (*Server).shutdown},
	{"GET /describe", replies((*Server).describe)},
	{"GET /agents", replies((*Server).listAgents)},
	{"POST /agents", replies((*Server).registerAgent)},
	{"DELETE /agents/{id}", replies((*Server).deleteAgent)},
	{"GET /agents/{id}/webhook", replies((*Server).webhookURL)},
	{"POST /agents/{id}/webhook", replies((*Server).webhookURL)},
	{"GET /sessions", replies((*Server).listSessions)},
	{"POST /sessions", replies((*Server).createSession)},
	{"DELETE /sessions", replies((*Server).deleteSession)}, // says what is missing
	{"DELETE /sessions/{session...}", replies((*Server).deleteSession)},
	{"POST /webhook/{token}", (*Server).webhook},
	{"GET /events/stream", (*Server).stream},
	{mcpPath, (*Server).mcp},
	{"/", (*Server).notFound}, // also for other methods of known paths, because this protocol has no 405
}

// mux sends requests to their routes.
func (s *Server) mux() http.Handler {
	m := http.NewServeMux()
	for _, rt := range routes {
		m.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := s.runRoute(rt.serve, w, r); err != nil {
				s.writeError(w, r, err)
			}
		})
	}
	return m
}

func (s *Server) notFound(_ http.ResponseWriter, r *http.Request) error {
	return httpErrorf(http.StatusNotFound, "Not found: %s %s", r.Method, r.URL.Path)
}

// handler returns the routes with CORS headers and a check of the path.
func (s *Server) handler() http.Handler {
	routed := s.mux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Allow-Headers", "Content-Type, X-Agent-Id")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if p := r.URL.EscapedPath(); path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/" { // the mux would redirect it
			s.writeError(w, r, s.notFound(w, r))
			return
		}
		routed.ServeHTTP(w, r)
	})
}

// forbid rejects a request that fails the access checks, in the error format of its path.
func (s *Server) forbid(w http.ResponseWriter, r *http.Request, why string) {
	httpErr := httpErrorf(http.StatusForbidden, "%s", why)
	if r.URL.Path == mcpPath {
		httpErr = rpcErrorf(http.StatusForbidden, rpcTransport, "%s", why)
	}
	s.writeError(w, r, httpErr)
}

// runRoute serves a request. A panic before the first byte becomes an error.
func (s *Server) runRoute(serve route, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			panic(p) // closes the connection without a byte
		} else if p != nil {
			s.Log.Error("handler panicked", "route", r.Pattern, "err", p)
			err = fmt.Errorf("%v", p)
		}
	}()
	return serve(s, w, r)
}

func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var httpErr *httpError
	if !errors.As(err, &httpErr) {
		// Without the path, because that of a webhook contains a secret.
		s.Log.Warn("request failed", "route", r.Pattern, "err", err)
		httpErr = httpErrorf(http.StatusInternalServerError, "%v", err)
	}
	reply(w, httpErr.status, httpErr.body)
}

// reply sends one JSON object.
func reply(w http.ResponseWriter, status int, body any) { serve.Reply(w, status, kit.MustJSON(body)) }

// Limits of the body of a request.
const (
	maxBody  = 10 << 20
	maxDrain = 20 << 20 // read and discarded, so that a client that is still sending gets the rejection
)

// Limits of large bodies, for all clients together.
const (
	maxLarge    = 8       // bodies over smallBody that may be read at a time
	smallBody   = 1 << 20 // a smaller body needs no slot
	bodyTimeout = time.Minute
)

var errLarge = httpErrorf(http.StatusServiceUnavailable, "Too many large requests. Try again later.")

// readBody reads a body up to a limit. If maxLarge large bodies are being read, it rejects another one at once.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, limit int64, tooLarge *httpError) (b []byte, err error) {
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	drainAndReject := func(why *httpError) error {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain) // until the end of the body, or maxDrain
		w.Header().Set("Connection", "close")
		return why
	}
	if r.ContentLength > limit {
		return nil, drainAndReject(tooLarge)
	}
	first := min(limit, smallBody)
	if b, err = large.Read(nil, io.LimitReader(r.Body, first+1), r.ContentLength); err == nil && int64(len(b)) > first && first < limit {
		leave, ok := s.large.TryAcquire()
		if !ok {
			return nil, drainAndReject(errLarge)
		}
		defer leave()
		b, err = large.Read(b, http.MaxBytesReader(nil, r.Body, limit-int64(len(b))), r.ContentLength)
	}
	if over := new(http.MaxBytesError); errors.As(err, &over) || int64(len(b)) > limit {
		return nil, drainAndReject(tooLarge)
	}
	if err != nil {
		return nil, httpErrorf(http.StatusBadRequest, "request body ended early")
	}
	return b, nil
}

func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return s.readBody(w, r, maxBody, httpErrorf(http.StatusRequestEntityTooLarge, "Request body exceeds %d bytes", maxBody))
}

// readObject returns the JSON object in the body of a request, or an empty object if the body is anything else.
func (s *Server) readObject(w http.ResponseWriter, r *http.Request) (serve.Members, error) {
	b, err := s.body(w, r)
	if err != nil {
		return nil, err
	}
	o, _ := s.parseObject(b)
	return o, nil
}

// parseObject decodes a JSON object. ok is false for anything else.
func (s *Server) parseObject(b []byte) (o serve.Members, ok bool) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	err := s.large.Decode(s.Ctx, len(b), func() error { return json.Unmarshal(b, &o) })
	return o, err == nil && o != nil
}

// textField returns a string member, trimmed.
func textField(o serve.Members, key string) (s string, isString bool) {
	s, isString = o.Text(key)
	return strings.TrimSpace(s), isString
}
