package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/accept"
	"github.com/cairndb/cairn/wire/large"
)

const (
	headTimeout = 10 * time.Second
	maxHeader   = 16 << 10 // bytes that are read before the token is known
)

// request is a running HTTP request.
type request struct {
	g            *Gateway
	w            http.ResponseWriter
	r            *http.Request
	c            api.Caller
	body         map[string]json.RawMessage
	releaseSlot  func() // releases the request's slot; nil if it has none
	apiKeys      bool   // also accept the token headers of dialects
	accessTokens bool   // also accept OAuth access tokens
}

// streamed is the result of a handler that has written its answer itself.
type streamed struct{}

// Door executes operations, and reports before a body is read whether this node can.
type Door interface {
	api.Door
	// Lead reports whether this node does the operation itself. If not, it returns the error that Do would return, or
	// nil if this node forwards the write.
	Lead(c api.Caller, op *api.Op) (here bool, err error)
}

// Config configures a gateway. All fields are required, except for the flags.
type Config struct {
	Door   Door
	Access *access.Control
	Conns  *access.Conns // open connections of this port

	Metrics Metrics
	Models  Models       // at /mcp
	Foreign []Dialect    // APIs of other services; may be empty
	OAuth   Authorizer   // issues access tokens for /mcp; nil: none
	Console http.Handler // at / and below /console/
	Log     *slog.Logger

	WaitOpen func(context.Context) error // returns once the node serves more than stale recalls
	Leader   func() api.Leader

	Budget *large.Shares // of the bytes of requests and answers, shared with other ports
	Turns  large.Turns   // for decoding large requests, shared with other ports

	Lenient     bool     // accepts requests of the oldest clients
	Forward     bool     // a follower forwards writes; otherwise it rejects them with the leader's address
	MaxInFlight int      // running requests, shared among principals; idle streams do not count
	MaxRPS      int      // requests a second of a token without its own limit; 0 or less: no limit
	Hosts       []string // lower-case names and addresses of the node, which a proxy on this machine passes on
	CORSOrigins []string // origins of web pages that may send requests; *: all
}

// Metrics counts requests and serves the metrics page.
type Metrics interface {
	Handled(operation string, took time.Duration)
	Refused(kind string)
	Answered(status int)

	// Show writes the page for a caller, nil for a client without a token.
	Show(w http.ResponseWriter, r *http.Request, c *api.Caller)
}

// Models answers messages of MCP. decoded is called after a large message is decoded; it is nil for small ones.
type Models interface {
	Serve(w http.ResponseWriter, r *http.Request, c api.Caller, message []byte, decoded func())
}

// Gateway is the HTTP port of a node.
type Gateway struct {
	cfg     Config
	srv     *http.Server
	busy    *large.Shares // running requests
	streams *large.Shares // event streams
	places  sync.Map      // maps net.Conn to *access.Place
	signIn  access.SignIn // the code of the console's sign-in link
}

// New returns a gateway that does not listen yet.
func New(cfg Config) *Gateway {
	g := &Gateway{cfg: cfg, busy: large.NewShares(cfg.MaxInFlight), streams: large.NewShares(maxStreams)}
	mux := http.NewServeMux()
	for _, op := range httpOps() {
		for _, path := range append([]string{op.Path()}, op.Also...) {
			mux.HandleFunc(op.Method()+" "+path, func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, op) })
		}
	}
	if cfg.OAuth != nil {
		cfg.Foreign = append(slices.Clone(cfg.Foreign), cfg.OAuth)
		mux.Handle("GET /oauth/authorize", cfg.Console)
	}
	for _, d := range cfg.Foreign {
		for pattern, op := range d.Routes() {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { g.serveDialect(w, r, d, op) })
		}
	}
	mux.HandleFunc(modelsPath, g.serveModels)
	mux.HandleFunc("GET "+resourceMetadataPath, g.serveResourceMetadata)
	mux.HandleFunc("GET "+resourceMetadataPath+modelsPath, g.serveResourceMetadata)
	mux.HandleFunc("GET /metrics", g.serveMetrics)
	mux.HandleFunc("GET /openapi.json", serveOpenAPI)
	docs := serveDocs()
	mux.Handle("GET /docs", docs)
	mux.Handle("GET /docs/{file}", docs)
	mux.Handle("GET /{$}", cfg.Console)
	mux.Handle("GET /console/", cfg.Console)
	mux.HandleFunc("POST "+signInPath, g.serveSignIn)
	g.srv = &http.Server{Handler: g.outer(mux), ReadHeaderTimeout: headTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ConnContext: g.connContext, ConnState: g.connState, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug)}
	return g
}

// Connections returns the number of open connections.
func (g *Gateway) Connections() int { return g.cfg.Conns.Open() }

// Streams returns the number of open event streams.
func (g *Gateway) Streams() int { return g.streams.Used() }

// Busy returns the number of running requests.
func (g *Gateway) Busy() int { return g.busy.Used() }

// Run accepts connections until the gateway is closed.
func (g *Gateway) Run(ln net.Listener) error {
	if err := g.srv.Serve(accept.Patiently(ln, "http", g.cfg.Log)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// placeKey is the context key of the *access.Place of a connection.
type placeKey struct{}

// connContext counts a new connection, and closes it if there are too many.
func (g *Gateway) connContext(ctx context.Context, nc net.Conn) context.Context {
	place, ok := g.cfg.Conns.Enter(nc)
	if !ok {
		nc.Close()
		return ctx
	}
	g.places.Store(nc, place)
	return context.WithValue(ctx, placeKey{}, place)
}

// connState uncounts closed connections.
func (g *Gateway) connState(nc net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	if place, known := g.places.LoadAndDelete(nc); known {
		place.(*access.Place).Leave()
	}
}

// Close waits for running requests until ctx ends.
func (g *Gateway) Close(ctx context.Context) error {
	if err := g.srv.Shutdown(ctx); err != nil {
		return g.srv.Close()
	}
	return nil
}

// serve answers a request for an operation.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, op *api.Op) {
	start := time.Now()
	if other := anonymousOps[op]; other != nil && r.Header.Get("Authorization") == "" {
		op = other
	}
	defer func() { g.cfg.Metrics.Handled(op.Name, time.Since(start)) }()
	q := &request{g: g, w: w, r: r}
	defer func() { q.c.Hold.Release() }() // after the answer is sent
	result, err := g.answer(q, op)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	if _, done := result.(streamed); done {
		return
	}
	if q.c.Hold != nil && q.c.Hold.Takes() {
		sendLarge(w, result)
		return
	}
	writeJSON(w, http.StatusOK, result)
}

// answer checks token, right, body, load and leadership, in this order, and calls the door, which counts the
// operation. Clients rely on the order: a node that does not accept writes says so even to an unknown token.
func (g *Gateway) answer(q *request, op *api.Op) (result any, err error) {
	lead := func() (here bool, err error) { return g.cfg.Door.Lead(api.Caller{Forward: g.forwards(q.r)}, op) }
	done, err := g.identify(q, op)
	defer done()
	if err != nil {
		rejectUnread(q.w, q.r)
		_, refused := lead()
		return nil, cmp.Or(refused, err)
	}
	defer func() { err = q.causeOf(err) }()
	if !op.Stream {
		release, err := g.readBody(q, op)
		if err != nil {
			rejectUnread(q.w, q.r)
			return nil, err
		}
		defer release()
	}
	if op.Scope != "" { // health checks need no slot
		if err := q.acquireSlot(); err != nil {
			return nil, err
		}
		defer q.releaseSlot()
	}
	here, err := lead()
	if err != nil {
		return nil, err
	}
	if !here {
		g.setLeaderHeader(q.w) // before a streamed answer begins, and again in case the leader changed
		defer g.setLeaderHeader(q.w)
	}
	return g.execute(q, op)
}

// leaderHeader names the node that executed a forwarded write.
const leaderHeader = "X-Cairn-Leader"

func (g *Gateway) setLeaderHeader(w http.ResponseWriter) {
	if id := g.cfg.Leader().ID; id != nil {
		w.Header().Set(leaderHeader, strconv.FormatUint(uint64(*id), 10))
	}
}

// forwardHeader makes a node forward a write although it is configured not to. The console sends it, so that it works
// on every node.
const forwardHeader = "X-Cairn-Forward"

func (g *Gateway) forwards(r *http.Request) bool {
	return g.cfg.Forward || r.Header.Get(forwardHeader) == "1"
}

// acquireSlot acquires a slot for a running request, or rejects the request.
func (q *request) acquireSlot() error {
	release, ok := q.g.busy.Try(q.c.Principal(), 1)
	if !ok {
		return oplog.Errorf(oplog.Unavailable, "server overloaded: %d inflight ops (max %d). Retry later.", q.g.busy.Used(),
			q.g.cfg.MaxInFlight)
	}
	q.releaseSlot = release
	return nil
}

// identify finds the caller and its database, and checks its right to the operation. It reads only the header. All
// callers come from here, so no request runs without its caller's limits. done must be called at the end of the
// request.
func (g *Gateway) identify(q *request, op *api.Op) (done func(), err error) {
	done = func() {}
	if op.Scope == "" && anonymousOps[op] == nil {
		q.c.Surface = "http"
		return done, nil
	}
	if q.c, err = g.authenticate(q); err != nil {
		return done, err
	}
	if err := g.cfg.Door.May(q.c, op); err != nil {
		return done, err
	}
	if place, ok := q.r.Context().Value(placeKey{}).(*access.Place); ok && !place.Known(q.c.Principal()) {
		q.w.Header().Set("Connection", "close")
		return done, oplog.Errorf(oplog.Unavailable, "too many connections of this client; retry")
	}
	if _, err := url.ParseQuery(q.r.URL.RawQuery); err != nil && !g.cfg.Lenient { // url.URL.Query ignores malformed parts
		return done, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "malformed query: %s", err)}
	}
	q.c.Usual, q.c.Patience = max(0, g.cfg.MaxRPS), indexWaitTimeout
	q.c.Forward, q.c.Surface, q.c.Hold = g.forwards(q.r), "http", large.NewHold(g.cfg.Budget, q.c.Principal())
	if q.c, err = g.cfg.Access.Find(q.r.Context(), q.c, q.param("database")); err != nil {
		return done, err
	}
	return q.bind(op.Stream), nil
}

func (g *Gateway) authenticate(q *request) (api.Caller, error) {
	token, ok := q.bearerToken()
	if !ok {
		return api.Caller{}, oplog.Errorf(oplog.Denied, "missing Bearer token")
	}
	if q.accessTokens && g.cfg.OAuth != nil && g.cfg.OAuth.Issued(token) {
		return g.cfg.OAuth.Login(q.r.Context(), q.r.RemoteAddr, token)
	}
	return g.cfg.Access.Login(q.r.Context(), q.r.RemoteAddr, token)
}

// serveMetrics serves the metrics of the node to everyone, and those of databases to callers that may use them.
func (g *Gateway) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "" {
		g.cfg.Metrics.Show(w, r, nil)
		return
	}
	c, err := g.authenticate(&request{r: r})
	if err != nil {
		g.fail(w, r, err)
		return
	}
	g.cfg.Metrics.Show(w, r, &c)
}
