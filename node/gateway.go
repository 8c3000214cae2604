package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// The gateway speaks JSON over HTTP.
const (
	headTimeout = 10 * time.Second
	maxHeader   = 16 << 10 // read before the token is known
	maxBusy     = 256      // requests that are worked on at a time; streams that wait are not counted
)

// request is one exchange on its way.
type request struct {
	g    *gateway
	w    http.ResponseWriter
	r    *http.Request
	c    api.Caller
	body map[string]json.RawMessage
}

// streamed is a result that the handler has written itself.
type streamed struct{}

type gateway struct {
	s       *Service
	srv     *http.Server
	metrics *metrics
	busy    atomic.Int64
	streams atomic.Int64
	limit   *access.Conns
	open    sync.Map // net.Conn to the func() that counts it out
}

func newGateway(s *Service) *gateway {
	g := &gateway{s: s, limit: access.NewConns(s.cfg.Limits.MaxConns, s.cfg.Limits.MaxConnsPerIP)}
	g.metrics = newMetrics(g)
	mux := http.NewServeMux()
	for _, op := range offered() {
		for _, path := range append([]string{op.Path()}, op.Also...) {
			mux.HandleFunc(op.Method()+" "+path, func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, op) })
		}
	}
	mux.Handle("/mcp", g.mcp())
	mux.Handle("GET /metrics", g.metrics.handler())
	mux.HandleFunc("GET /openapi.json", serveOpenAPI)
	mux.HandleFunc("GET /docs", serveDocs)
	mux.Handle("GET /{$}", console())
	mux.Handle("GET /console/", console())
	g.srv = &http.Server{Handler: g.outer(mux), ReadHeaderTimeout: headTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ConnState: g.connection, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	return g
}

func (g *gateway) run(ln net.Listener) error {
	if err := g.srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// connection counts the gateway's connections in and out, and closes those beyond the bound; it is the server's ConnState.
func (g *gateway) connection(nc net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		leave, ok := g.limit.Enter(nc.RemoteAddr())
		if !ok {
			nc.Close()
			return
		}
		g.open.Store(nc, leave)
	case http.StateClosed, http.StateHijacked:
		if leave, known := g.open.LoadAndDelete(nc); known {
			leave.(func())()
		}
	}
}

// close lets requests under way finish until ctx ends.
func (g *gateway) close(ctx context.Context) error {
	if err := g.srv.Shutdown(ctx); err != nil {
		return g.srv.Close()
	}
	return nil
}

// serve answers a request for an operation.
func (g *gateway) serve(w http.ResponseWriter, r *http.Request, op *api.Op) {
	start := time.Now()
	defer func() { g.metrics.handled(op.Name, time.Since(start)) }()
	result, err := g.answer(&request{g: g, w: w, r: r}, op)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	if _, done := result.(streamed); !done {
		writeJSON(w, http.StatusOK, result)
	}
}

// answer checks a request in the order token, right, body, load, leadership, and asks the door, which counts it. Clients see the order
// that they know: a node that does not take writes says so whether or not it knows the token.
func (g *gateway) answer(q *request, op *api.Op) (any, error) {
	forward := g.forwards(q.r)
	refused := func() error {
		if op.Writes && !forward && !g.s.commit.Leads() {
			return g.s.commit.NotLeader()
		}
		return nil
	}
	if err := g.identify(q, op.Scope); err != nil {
		leaveUnread(q.w, q.r)
		return nil, cmp.Or(refused(), err)
	}
	if !op.Stream {
		release, err := g.readBody(q, op)
		if err != nil {
			leaveUnread(q.w, q.r)
			return nil, err
		}
		defer release()
	}
	if n := g.busy.Add(1); n > maxBusy && op.Scope != "" { // whether the node lives is told however busy it is
		g.busy.Add(-1)
		return nil, crowded(n)
	}
	defer g.busy.Add(-1)
	if err := refused(); err != nil {
		return nil, err
	}
	if op.Writes && !g.s.commit.Leads() {
		g.nameLeader(q.w) // what streams its answer has sent the header when it is done
		defer g.nameLeader(q.w)
	}
	return g.do(q, op)
}

// leaderHeader names the node that took a write which this one has passed on.
const leaderHeader = "X-Cairn-Leader"

func (g *gateway) nameLeader(w http.ResponseWriter) {
	if id, ok := g.s.commit.Leader(); ok {
		w.Header().Set(leaderHeader, strconv.FormatUint(uint64(id), 10))
	}
}

// forwardHeader is how a client asks a node to pass its write on that is configured not to. The console does, so that it works on
// every node.
const forwardHeader = "X-Cairn-Forward"

func (g *gateway) forwards(r *http.Request) bool {
	return g.s.cfg.forwardsHTTP() || r.Header.Get(forwardHeader) == "1"
}

func crowded(n int64) error {
	return oplog.Errorf(oplog.Unavailable, "server overloaded: %d inflight ops (max %d). Retry later.", n-1, maxBusy)
}

// identify finds the caller, the database it means, and whether it has the right. It reads nothing but the header.
func (g *gateway) identify(q *request, scope api.Scope) (err error) {
	if scope == "" {
		q.c.Surface = "http"
		return nil
	}
	if q.c, err = g.authenticate(q.r); err != nil {
		return err
	}
	if !q.c.May(scope) {
		return noScope(scope)
	}
	q.c.Usual = max(0, g.s.cfg.Limits.MaxRPS)
	q.c.Forward, q.c.Surface, q.c.Bearer = g.forwards(q.r), "http", q.r.Header.Get("Authorization")
	q.c, err = g.s.access.Select(q.c, q.param("database"))
	return err
}

func (g *gateway) authenticate(r *http.Request) (api.Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return api.Caller{}, oplog.Errorf(oplog.Denied, "missing Bearer token")
	}
	return g.s.access.Login(r.RemoteAddr, token)
}
