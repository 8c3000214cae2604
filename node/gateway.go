package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/oplog"
)

// The gateway speaks JSON over HTTP.
const (
	maxBody     = 64 << 20
	headTimeout = 10 * time.Second
	maxHeader   = 64 << 10
	maxBusy     = 256 // requests that are worked on at a time; streams that wait are not counted
)

// A route is a line of the gateway: what is asked, with which right, and what the body holds. The documentation at
// /openapi.json and /docs is made of the same lines.
type route struct {
	method, path string
	scope        Scope // empty: no token asked
	write        bool  // refused by a node that does not lead
	handle       func(*gateway, *request) (any, error)
	summary      string
	body         string // "name:type" of each field, ! behind those that must be there
	query        string // the same for the query
}

// routes is the gateway at a glance.
func routes() []route {
	return slices.Concat(memoryRoutes, graphRoutes, sessionRoutes, infoRoutes, adminRoutes, consoleRoutes)
}

// request is one exchange on its way.
type request struct {
	w    http.ResponseWriter
	r    *http.Request
	c    Caller
	body fields
}

// streamed is a result that the handler has written itself.
type streamed struct{}

// direct adapts a handler that writes its answer itself.
func direct(f func(*gateway, http.ResponseWriter, *http.Request, Caller) error) func(*gateway, *request) (any, error) {
	return func(g *gateway, q *request) (any, error) { return streamed{}, f(g, q.w, q.r, q.c) }
}

type gateway struct {
	s       *Service
	srv     *http.Server
	metrics *metrics
	busy    atomic.Int64
}

func newGateway(s *Service) *gateway {
	g := &gateway{s: s, metrics: newMetrics(s)}
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { g.serve(w, req, r) })
	}
	mux.Handle("/mcp", g.mcp())
	mux.Handle("GET /metrics", g.metrics.handler())
	mux.HandleFunc("GET /openapi.json", serveOpenAPI)
	mux.HandleFunc("GET /docs", serveDocs)
	mux.Handle("GET /{$}", console())
	mux.Handle("GET /console/", console())
	g.srv = &http.Server{Handler: g.outer(mux), ReadHeaderTimeout: headTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader}
	return g
}

// outer is what every exchange goes through: an id of the request, and the origins that may ask from a browser.
func (g *gateway) outer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if id == "" || len(id) > 128 {
			id = uuid.NewString()
		}
		w.Header().Set("X-Request-Id", id)
		if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(g.s.cfg.CORSOrigins, origin) {
			w.Header().Set("Access-Control-Allow-Origin", origin)
			w.Header().Set("Vary", "Origin")
			if r.Method == http.MethodOptions {
				w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (g *gateway) run(ln net.Listener) error {
	if err := g.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// close lets requests under way finish until ctx ends.
func (g *gateway) close(ctx context.Context) error {
	if err := g.srv.Shutdown(ctx); err != nil {
		return g.srv.Close()
	}
	return nil
}

// serve checks a request in the order body, leadership, token, right, and answers it.
func (g *gateway) serve(w http.ResponseWriter, r *http.Request, rt route) {
	start := time.Now()
	defer func() { g.metrics.handled(rt.path, time.Since(start)) }()
	q := &request{w: w, r: r}
	result, err := g.answer(q, rt)
	if err != nil {
		g.fail(w, err)
		return
	}
	if _, done := result.(streamed); !done {
		writeJSON(w, http.StatusOK, result)
	}
}

func (g *gateway) answer(q *request, rt route) (any, error) {
	if n := g.busy.Add(1); n > maxBusy {
		g.busy.Add(-1)
		return nil, oplog.Errorf(oplog.Unavailable, "server overloaded: %d inflight ops (max %d). Retry later.", n, maxBusy)
	}
	defer g.busy.Add(-1)
	if err := q.readBody(); err != nil {
		return nil, err
	}
	if rt.write && !g.s.cfg.ForwardWrites && !g.s.machine.leads() {
		return nil, g.s.notLeader()
	}
	if rt.scope != "" {
		var err error
		if q.c, err = g.authenticate(q.r); err != nil {
			return nil, err
		}
		if !q.c.May(rt.scope) {
			return nil, &statusError{http.StatusForbidden, "insufficient_scope", oplog.Errorf(oplog.Denied, "token has no %s scope", rt.scope)}
		}
	}
	return rt.handle(g, q)
}

func (g *gateway) authenticate(r *http.Request) (Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return Caller{}, oplog.Errorf(oplog.Denied, "missing Bearer token")
	}
	return g.s.Authenticate(token)
}

// statusError gives an error a status and a code of its own where the table's are too coarse.
type statusError struct {
	status int
	code   string
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// statuses maps what went wrong to HTTP.
var statuses = map[oplog.Kind]int{
	oplog.Internal:       http.StatusInternalServerError,
	oplog.Invalid:        http.StatusBadRequest,
	oplog.NotFound:       http.StatusNotFound,
	oplog.Denied:         http.StatusUnauthorized,
	oplog.Conflict:       http.StatusConflict,
	oplog.TooLarge:       http.StatusRequestEntityTooLarge,
	oplog.Unavailable:    http.StatusServiceUnavailable,
	oplog.NotLeader:      http.StatusServiceUnavailable,
	oplog.UnknownOutcome: http.StatusGatewayTimeout,
	oplog.Corrupt:        http.StatusInternalServerError,
}

// kindCodes are the codes beside the messages, for those who branch on them.
var kindCodes = map[oplog.Kind]string{
	oplog.Internal: "internal_error", oplog.Invalid: "invalid_request", oplog.NotFound: "not_found", oplog.Denied: "unauthenticated",
	oplog.Conflict: "conflict", oplog.TooLarge: "too_large", oplog.Unavailable: "cluster_unavailable", oplog.NotLeader: "not_leader",
	oplog.UnknownOutcome: "commit_timeout", oplog.Corrupt: "internal_error",
}

// failure is what a client reads of an error.
type failure struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

// readOnly is the refusal of a node that does not lead, in every spelling that clients look for.
type readOnly struct {
	failure
	Leader     *uint32 `json:"leader"`
	LeaderID   *uint32 `json:"leader_id"`
	LeaderNode *uint32 `json:"leader_node_id"`
	LeaderAddr *string `json:"leader_addr"`
	RetryAfter int     `json:"retry_after_ms"`
}

func (g *gateway) fail(w http.ResponseWriter, err error) {
	var e *oplog.Error
	if !errors.As(err, &e) {
		e = &oplog.Error{Kind: oplog.Internal, Text: "internal error", Err: err}
		g.s.log.Error("request failed", "surface", "http", "err", err)
	}
	f := failure{Error: e.Text, Code: kindCodes[e.Kind]}
	status := statuses[e.Kind]
	var se *statusError
	if errors.As(err, &se) {
		status, f.Code = se.status, se.code
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if e.Kind != oplog.NotLeader && !errors.Is(e, ErrNoLeader) {
		writeJSON(w, status, f)
		return
	}
	r := readOnly{failure: failure{"read-only: no leader elected", "not_leader"}, RetryAfter: 1000}
	if l, ok := g.s.leaderInfo(); ok {
		r.Error = fmt.Sprintf("read-only: not the leader (current leader: node %d)", l.ID)
		r.Leader, r.LeaderID, r.LeaderNode = &l.ID, &l.ID, &l.ID
		if l.HTTP != "" {
			url := g.s.cfg.scheme() + l.HTTP
			r.LeaderAddr = &url
		}
	}
	writeJSON(w, status, r)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a client that went away is no failure of ours
}

func intParam(r *http.Request, name string, def int) (int, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, oplog.Errorf(oplog.Invalid, "%s: a whole number of at least 0", name)
	}
	return n, nil
}
