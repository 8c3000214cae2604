package node

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// The gateway speaks JSON over HTTP. Here it has what running a cluster needs: health, status, membership,
// tokens, databases, the log and the export.
const (
	maxBody     = 16 << 20
	headTimeout = 10 * time.Second
	maxHeader   = 64 << 10
)

// routes is the gateway at a glance: pattern, the right a token must have, handler.
func (g *gateway) routes() []route {
	return []route{
		{"GET /v1/health", "", g.health},
		{"GET /v1/cluster", "", g.cluster},
		{"POST /v1/cluster/{verb}", Admin, g.member},
		{"POST /v1/admin/tokens", Admin, g.createToken},
		{"GET /v1/admin/tokens", Admin, g.listTokens},
		{"POST /v1/admin/tokens/revoke", Admin, g.revokeToken},
		{"DELETE /v1/databases/{name}", Admin, g.dropDatabase},
		{"GET /v1/admin/log", Admin, g.tail},
		{"GET /v1/export", Read, g.export},
	}
}

type route struct {
	pattern string
	scope   Scope // empty: no token asked
	handle  func(http.ResponseWriter, *http.Request, Caller) error
}

type gateway struct {
	s   *Service
	srv *http.Server
}

func newGateway(s *Service) *gateway {
	g := &gateway{s: s}
	mux := http.NewServeMux()
	for _, r := range g.routes() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if err := g.serve(w, req, r); err != nil {
				g.fail(w, err)
			}
		})
	}
	g.srv = &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader}
	return g
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

func (g *gateway) serve(w http.ResponseWriter, r *http.Request, rt route) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if rt.scope == "" {
		return rt.handle(w, r, Caller{})
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return &oplog.Error{Kind: oplog.Denied, Text: "missing Authorization: Bearer token"}
	}
	c, err := g.s.Authenticate(token)
	if err != nil {
		return err
	}
	if !c.May(rt.scope) {
		return oplog.Errorf(oplog.Denied, "token has no %s scope", rt.scope)
	}
	return rt.handle(w, r, c)
}

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

type failure struct {
	Error      string  `json:"error"`
	Code       string  `json:"code"`
	Leader     *uint32 `json:"leader,omitempty"`
	LeaderID   *uint32 `json:"leader_node_id,omitempty"`
	LeaderAddr string  `json:"leader_addr,omitempty"`
}

func (g *gateway) fail(w http.ResponseWriter, err error) {
	var e *oplog.Error
	if !errors.As(err, &e) {
		e = &oplog.Error{Kind: oplog.Internal, Text: "internal error", Err: err}
		g.s.log.Error("request failed", "surface", "http", "err", err)
	}
	f := failure{Error: e.Text, Code: strings.ReplaceAll(e.Kind.String(), " ", "_")}
	if e.Kind == oplog.NotLeader {
		f.Error = "read-only: " + e.Text
		if l, ok := g.s.leaderInfo(); ok {
			f.Leader, f.LeaderID, f.LeaderAddr = &l.ID, &l.ID, "http://"+l.HTTP
		}
	}
	if e.Kind == oplog.Unavailable || e.Kind == oplog.NotLeader {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, statuses[e.Kind], f)
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

func readJSON(r *http.Request, v any) error {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return oplog.Errorf(oplog.TooLarge, "body is over %d bytes", maxBody)
	}
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, v); err != nil {
		return oplog.Errorf(oplog.Invalid, "body is not the JSON object this route takes: %v", err)
	}
	return nil
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
