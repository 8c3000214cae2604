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

// A refusal is an error answer: a status and a JSON object.
type refusal struct {
	status int
	body   kit.Object
}

// Error returns the text for a client of the command language.
func (r *refusal) Error() string { return fmt.Sprint(r.body[1]) }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, kit.Object{"error", fmt.Sprintf(format, args...)}}
}

// route serves a request of its path. An error that it returns is the answer.
type route func(s *Server, w http.ResponseWriter, r *http.Request) error

// replies is a route whose answer is an object.
func replies(serve func(s *Server, w http.ResponseWriter, r *http.Request) (kit.Object, error)) route {
	return func(s *Server, w http.ResponseWriter, r *http.Request) error {
		answer, err := serve(s, w, r)
		if err == nil {
			reply(w, http.StatusOK, answer)
		}
		return err
	}
}

// routes is the protocol at a glance.
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
	{"GET /agents/{id}/webhook", replies((*Server).giveWebhook)},
	{"POST /agents/{id}/webhook", replies((*Server).giveWebhook)},
	{"GET /sessions", replies((*Server).listSessions)},
	{"POST /sessions", replies((*Server).createSession)},
	{"DELETE /sessions", replies((*Server).deleteSession)}, // says what is missing
	{"DELETE /sessions/{session...}", replies((*Server).deleteSession)},
	{"POST /webhook/{token}", (*Server).webhook},
	{"GET /events/stream", (*Server).stream},
	{mcpPath, (*Server).mcp},
	{"/", (*Server).notFound}, // another method of a known path, too: this protocol has no 405
}

// mux sends requests to their routes.
func (s *Server) mux() http.Handler {
	m := http.NewServeMux()
	for _, rt := range routes {
		m.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := s.run(rt.serve, w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	return m
}

func (s *Server) notFound(_ http.ResponseWriter, r *http.Request) error {
	return refuse(http.StatusNotFound, "Not found: %s %s", r.Method, r.URL.Path)
}

// handler wraps the routes in the checks that every request has to pass.
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
			s.fail(w, r, s.notFound(w, r))
			return
		}
		routed.ServeHTTP(w, r)
	})
}

// forbid rejects a request that fails the access checks, in the error format of its path.
func (s *Server) forbid(w http.ResponseWriter, r *http.Request, why string) {
	no := refuse(http.StatusForbidden, "%s", why)
	if r.URL.Path == mcpPath {
		no = rpcRefuse(http.StatusForbidden, rpcTransport, "%s", why)
	}
	s.fail(w, r, no)
}

// run serves a request. A panic before the first byte is an error like any other.
func (s *Server) run(serve route, w http.ResponseWriter, r *http.Request) (err error) {
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

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		s.Log.Warn("request failed", "route", r.Pattern, "err", err) // not the path: a webhook's has a secret in it
		no = refuse(http.StatusInternalServerError, "%v", err)
	}
	reply(w, no.status, no.body)
}

// reply sends one JSON object.
func reply(w http.ResponseWriter, status int, body any) { serve.Reply(w, status, kit.Must(body)) }

// Bounds of a request's body.
const (
	maxBody  = 10 << 20
	maxDrain = 20 << 20 // read and thrown away, so that a client which is still sending sees the rejection
)

// Bounds of large bodies, of all clients together.
const (
	maxLarge    = 8       // bodies of more than smallBody
	smallBody   = 1 << 20 // a smaller body does not count
	bodyTimeout = time.Minute
)

var errLarge = refuse(http.StatusServiceUnavailable, "Too many large requests. Try again later.")

// readBody reads a body up to a limit. At most maxLarge large bodies are read at a time; another is rejected and does
// not wait.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, limit int64, refused *refusal) (b []byte, err error) {
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	drainAndRefuse := func(why *refusal) error {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain) // until the body ends or the patience does
		w.Header().Set("Connection", "close")
		return why
	}
	if r.ContentLength > limit {
		return nil, drainAndRefuse(refused)
	}
	first := min(limit, smallBody)
	if b, err = large.Read(nil, io.LimitReader(r.Body, first+1), r.ContentLength); err == nil && int64(len(b)) > first && first < limit {
		leave, ok := s.large.TryPlace()
		if !ok {
			return nil, drainAndRefuse(errLarge)
		}
		defer leave()
		b, err = large.Read(b, http.MaxBytesReader(nil, r.Body, limit-int64(len(b))), r.ContentLength)
	}
	if over := new(http.MaxBytesError); errors.As(err, &over) || int64(len(b)) > limit {
		return nil, drainAndRefuse(refused)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "request body ended early")
	}
	return b, nil
}

func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return s.readBody(w, r, maxBody, refuse(http.StatusRequestEntityTooLarge, "Request body exceeds %d bytes", maxBody))
}

// lenient returns the object in a request's body; anything else is an empty object.
func (s *Server) lenient(w http.ResponseWriter, r *http.Request) (serve.Members, error) {
	b, err := s.body(w, r)
	if err != nil {
		return nil, err
	}
	o, _ := s.object(b)
	return o, nil
}

// object reads a JSON object; ok is false when the bytes are something else.
func (s *Server) object(b []byte) (o serve.Members, ok bool) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	err := s.large.Decode(s.Ctx, len(b), func() error { return json.Unmarshal(b, &o) })
	return o, err == nil && o != nil
}

// text is a member of an object when it is a string, trimmed.
func text(o serve.Members, key string) (s string, isString bool) {
	s, isString = o.Text(key)
	return strings.TrimSpace(s), isString
}
