package node

import (
	"cmp"
	"context"
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
	"github.com/cairndb/cairn/wire/field"
)

// The gateway speaks JSON over HTTP.
const (
	headTimeout = 10 * time.Second
	maxHeader   = 16 << 10 // read before the token is known
	maxBusy     = 256      // requests that are worked on at a time; streams that wait are not counted
)

// A route is a line of the gateway: what is asked, with which right, and what goes in and comes out. The documentation
// at /openapi.json and /docs is made of the same lines.
type route struct {
	name         string // what its times are counted under
	method, path string
	also         []string  // other paths that clients know it by
	scope        api.Scope // empty: no token asked
	write        bool      // refused by a node that does not lead
	handle       func(*gateway, *request) (any, error)
	summary      string
	query        string // "name:type" of each parameter, ! behind those that must be there
	body         string // the same for the request's object
	result       string // the same for the answer's, ! behind what is always there; empty where the answer is no object
	media        string // what the answer is where it is no object
	large        bool   // the body may be as large as a batch
	stream       bool   // the handler reads the body itself

	op *api.Op // its row in the table of operations; nil for a route that is no operation

	params, fields, inPath, gives field.Object // of the query, the body, the path and the answer
}

// described is the route with its descriptions parsed.
func (rt route) described() route {
	if rt.op == nil {
		rt.params, rt.fields, rt.gives = field.Parse(rt.query), field.Parse(rt.body), field.Parse(rt.result)
		for _, seg := range strings.Split(rt.path, "/") {
			if name, ok := strings.CutPrefix(seg, "{"); ok {
				rt.inPath = append(rt.inPath, field.Parse(strings.TrimSuffix(name, "}")+":string!")...)
			}
		}
	}
	if rt.scope != "" {
		rt.params = append(rt.params, field.Parse("database:string")...)
	}
	return rt
}

// routes is the gateway at a glance.
func routes() []route {
	return opRoutes()
}

// request is one exchange on its way.
type request struct {
	g    *gateway
	w    http.ResponseWriter
	r    *http.Request
	c    api.Caller
	body fields
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
	g := &gateway{s: s, limit: access.NewConns(s.cfg.MaxConns, s.cfg.MaxConnsPerIP)}
	g.metrics = newMetrics(g)
	mux := http.NewServeMux()
	for _, r := range routes() {
		r = r.described()
		for _, path := range append([]string{r.path}, r.also...) {
			mux.HandleFunc(r.method+" "+path, func(w http.ResponseWriter, req *http.Request) { g.serve(w, req, r) })
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

// serve answers a request by its route.
func (g *gateway) serve(w http.ResponseWriter, r *http.Request, rt route) {
	start := time.Now()
	defer func() { g.metrics.handled(rt.name, time.Since(start)) }()
	q := &request{g: g, w: w, r: r}
	result, err := g.answer(q, rt)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	if _, done := result.(streamed); !done {
		writeJSON(w, http.StatusOK, result)
		if rt.op == nil {
			g.s.slowly("http", rt.name, q.c, start)
		}
	}
}

// answer checks a request in the order token, right, body, load, leadership, rate, fields, and has it handled. Clients see the order
// that they know: a node that does not take writes says so whether or not it knows the token.
func (g *gateway) answer(q *request, rt route) (any, error) {
	forward := g.forwards(q.r)
	refused := func() error {
		if rt.write && !forward && !g.s.commit.Leads() {
			return g.s.commit.NotLeader()
		}
		return nil
	}
	if err := g.identify(q, rt.scope); err != nil {
		leaveUnread(q.w, q.r)
		return nil, cmp.Or(refused(), err)
	}
	if !rt.stream {
		release, err := g.readBody(q, rt)
		if err != nil {
			leaveUnread(q.w, q.r)
			return nil, err
		}
		defer release()
	}
	if n := g.busy.Add(1); n > maxBusy && rt.scope != "" { // whether the node lives is told however busy it is
		g.busy.Add(-1)
		return nil, crowded(n)
	}
	defer g.busy.Add(-1)
	if err := refused(); err != nil {
		return nil, err
	}
	if rt.scope != "" && rt.op == nil {
		if err := g.admit(q, rt.scope); err != nil {
			return nil, err
		}
	}
	if rt.op == nil {
		if err := q.check(rt, g.s.cfg.Lenient); err != nil {
			return nil, err
		}
	}
	if rt.write && !g.s.commit.Leads() {
		g.nameLeader(q.w) // what streams its answer has sent the header when it is done
		defer g.nameLeader(q.w)
	}
	return rt.handle(g, q)
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
	q.c.Usual = max(0, g.s.cfg.MaxRPS)
	q.c.Forward, q.c.Surface, q.c.Bearer = g.forwards(q.r), "http", q.r.Header.Get("Authorization")
	q.c, err = g.s.access.Select(q.c, q.param("database"))
	return err
}

// admit counts a request of a caller that is known.
func (g *gateway) admit(q *request, scope api.Scope) error {
	bound := q.c
	if scope == api.Admin || scope == api.Owner {
		bound.DB = 0 // the request that raises a database's bound is not held by it
	}
	bound, err := g.s.access.Count(bound, 1)
	q.c.Counted = bound.Counted
	return err
}

func (g *gateway) authenticate(r *http.Request) (api.Caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return api.Caller{}, oplog.Errorf(oplog.Denied, "missing Bearer token")
	}
	return g.s.access.Login(r.RemoteAddr, token)
}
