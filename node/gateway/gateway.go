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
	maxHeader   = 16 << 10 // read before the token is known
)

// request is one exchange on its way.
type request struct {
	g    *Gateway
	w    http.ResponseWriter
	r    *http.Request
	c    api.Caller
	body map[string]json.RawMessage
	idle func() // gives back its slot among the requests that are worked on; nil for those that need none
	keys bool   // a token may come as the clients of dialects send it
	mcp  bool   // the token may be an access token
}

// streamed is a result that the handler has written itself.
type streamed struct{}

// A Door can be asked before a request is read.
type Door interface {
	api.Door
	// Lead reports whether this node does the operation itself. If not, another node takes the write: then it returns the
	// error that Do would return to the caller, nil for one whose writes are passed on.
	Lead(c api.Caller, op *api.Op) (here bool, err error)
}

// Config says what a gateway works with. All of it is required but the flags.
type Config struct {
	Door   Door
	Access *access.Control
	Conns  *access.Conns // of this port

	Metrics Metrics
	Models  Models       // at /mcp
	Foreign []Dialect    // APIs of other services; none is a gateway without them
	OAuth   Authorizer   // issues access tokens for /mcp; nil: nobody does
	Console http.Handler // at / and below /console/
	Log     *slog.Logger

	WaitOpen func(context.Context) error // returns when the node answers more than stale recalls
	Leader   func() api.Leader

	Budget *large.Shares // of the bytes of requests and answers, shared with other ports
	Turns  large.Turns   // at decoding large requests, shared as well

	Lenient     bool     // requests are taken as the oldest clients send them
	Forward     bool     // writes on a follower are passed on; else they are rejected with the leader's address
	MaxInFlight int      // requests that are worked on at a time, shared among principals; streams that wait are not counted
	MaxRPS      int      // what a token may ask a second that has no bound of its own; 0 and less for no bound
	Hosts       []string // names and addresses that clients know the node by, in lower case: a proxy on this machine passes them on
	CORSOrigins []string // whose pages may ask from a browser; * for all
}

// Metrics counts what a gateway does, and shows what is counted.
type Metrics interface {
	Handled(operation string, took time.Duration)
	Refused(kind string)
	Answered(status int)

	// Show writes the page for a caller; nil for a client without a token.
	Show(w http.ResponseWriter, r *http.Request, c *api.Caller)
}

// Models answers messages of models. decoded is called when a large message is decoded; nil for small ones.
type Models interface {
	Serve(w http.ResponseWriter, r *http.Request, c api.Caller, message []byte, decoded func())
}

// Gateway is the port for HTTP of one node.
type Gateway struct {
	cfg     Config
	srv     *http.Server
	busy    *large.Shares // requests that are worked on
	streams *large.Shares // event streams
	open    sync.Map      // net.Conn to its *access.Place
	signIn  access.SignIn // the code of the console's sign-in link
}

// New makes a gateway that does not listen yet.
func New(cfg Config) *Gateway {
	g := &Gateway{cfg: cfg, busy: large.NewShares(cfg.MaxInFlight), streams: large.NewShares(maxStreams)}
	mux := http.NewServeMux()
	for _, op := range offered() {
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
	mux.HandleFunc("GET "+aboutTokens, g.serveAboutTokens)
	mux.HandleFunc("GET "+aboutTokens+modelsPath, g.serveAboutTokens)
	mux.HandleFunc("GET /metrics", g.serveMetrics)
	mux.HandleFunc("GET /openapi.json", serveOpenAPI)
	docs := serveDocs()
	mux.Handle("GET /docs", docs)
	mux.Handle("GET /docs/{file}", docs)
	mux.Handle("GET /{$}", cfg.Console)
	mux.Handle("GET /console/", cfg.Console)
	mux.HandleFunc("POST "+signInPath, g.serveSignIn)
	g.srv = &http.Server{Handler: g.outer(mux), ReadHeaderTimeout: headTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ConnContext: g.enter, ConnState: g.connection, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug)}
	return g
}

// Connections returns the number of open connections.
func (g *Gateway) Connections() int { return g.cfg.Conns.Open() }

// Streams returns the number of open event streams.
func (g *Gateway) Streams() int { return g.streams.Used() }

// Busy returns the number of requests that are being worked on.
func (g *Gateway) Busy() int { return g.busy.Used() }

// Run accepts connections until the gateway is closed.
func (g *Gateway) Run(ln net.Listener) error {
	if err := g.srv.Serve(accept.Patiently(ln, "http", g.cfg.Log)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// placeKey is the key of a connection's *access.Place in the contexts of its requests.
type placeKey struct{}

// enter counts a connection in, and closes one beyond the bound; it is the server's ConnContext.
func (g *Gateway) enter(ctx context.Context, nc net.Conn) context.Context {
	place, ok := g.cfg.Conns.Enter(nc)
	if !ok {
		nc.Close()
		return ctx
	}
	g.open.Store(nc, place)
	return context.WithValue(ctx, placeKey{}, place)
}

// connection counts connections out; it is the server's ConnState.
func (g *Gateway) connection(nc net.Conn, s http.ConnState) {
	if s != http.StateClosed && s != http.StateHijacked {
		return
	}
	if place, known := g.open.LoadAndDelete(nc); known {
		place.(*access.Place).Leave()
	}
}

// Close lets requests under way finish until ctx ends.
func (g *Gateway) Close(ctx context.Context) error {
	if err := g.srv.Shutdown(ctx); err != nil {
		return g.srv.Close()
	}
	return nil
}

// serve answers a request for an operation.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, op *api.Op) {
	start := time.Now()
	if other := strangers[op]; other != nil && r.Header.Get("Authorization") == "" {
		op = other
	}
	defer func() { g.cfg.Metrics.Handled(op.Name, time.Since(start)) }()
	q := &request{g: g, w: w, r: r}
	defer func() { q.c.Hold.Release() }() // when the answer is sent
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

// answer checks a request in the order token, right, body, load, leadership, and asks the door, which counts it.
// Clients see the order that they know: a node that does not take writes says so whether or not it knows the token.
func (g *Gateway) answer(q *request, op *api.Op) (result any, err error) {
	lead := func() (here bool, err error) { return g.cfg.Door.Lead(api.Caller{Forward: g.forwards(q.r)}, op) }
	done, err := g.identify(q, op)
	defer done()
	if err != nil {
		leaveUnread(q.w, q.r)
		_, refused := lead()
		return nil, cmp.Or(refused, err)
	}
	defer func() { err = q.ended(err) }()
	if !op.Stream {
		release, err := g.readBody(q, op)
		if err != nil {
			leaveUnread(q.w, q.r)
			return nil, err
		}
		defer release()
	}
	if op.Scope != "" { // whether the node lives is told however busy it is
		if err := q.work(); err != nil {
			return nil, err
		}
		defer q.idle()
	}
	here, err := lead()
	if err != nil {
		return nil, err
	}
	if !here {
		g.nameLeader(q.w) // what streams its answer has sent the header when it is done
		defer g.nameLeader(q.w)
	}
	return g.do(q, op)
}

// leaderHeader names the node that took a write which this one has passed on.
const leaderHeader = "X-Cairn-Leader"

func (g *Gateway) nameLeader(w http.ResponseWriter) {
	if id := g.cfg.Leader().ID; id != nil {
		w.Header().Set(leaderHeader, strconv.FormatUint(uint64(*id), 10))
	}
}

// forwardHeader makes a node forward a client's write although it is configured not to. The console sends it, so that
// it works on every node.
const forwardHeader = "X-Cairn-Forward"

func (g *Gateway) forwards(r *http.Request) bool {
	return g.cfg.Forward || r.Header.Get(forwardHeader) == "1"
}

// work takes a slot for a request, or rejects it.
func (q *request) work() error {
	idle, ok := q.g.busy.Try(q.c.Principal(), 1)
	if !ok {
		return oplog.Errorf(oplog.Unavailable, "server overloaded: %d inflight ops (max %d). Retry later.", q.g.busy.Used(),
			q.g.cfg.MaxInFlight)
	}
	q.idle = idle
	return nil
}

// identify finds the caller, the database it means, and whether it has the right. It reads nothing but the header. A
// request that has a caller is bound to the caller's rights: there is no way to a caller but this one. done is called
// when the request is over.
func (g *Gateway) identify(q *request, op *api.Op) (done func(), err error) {
	done = func() {}
	if op.Scope == "" && strangers[op] == nil {
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
	if _, err := url.ParseQuery(q.r.URL.RawQuery); err != nil && !g.cfg.Lenient { // Query leaves out what it cannot read
		return done, &api.Refusal{Code: "invalid_query_parameter", Err: oplog.Errorf(oplog.Invalid, "malformed query: %s", err)}
	}
	q.c.Usual = max(0, g.cfg.MaxRPS)
	q.c.Forward, q.c.Surface, q.c.Hold = g.forwards(q.r), "http", large.NewHold(g.cfg.Budget, q.c.Principal())
	if q.c, err = g.cfg.Access.Find(q.r.Context(), q.c, q.param("database")); err != nil {
		return done, err
	}
	return q.bind(op.Stream), nil
}

func (g *Gateway) authenticate(q *request) (api.Caller, error) {
	token, ok := q.tokenOf()
	if !ok {
		return api.Caller{}, oplog.Errorf(oplog.Denied, "missing Bearer token")
	}
	if q.mcp && g.cfg.OAuth != nil && g.cfg.OAuth.Issued(token) {
		return g.cfg.OAuth.Login(q.r.Context(), q.r.RemoteAddr, token)
	}
	return g.cfg.Access.Login(q.r.Context(), q.r.RemoteAddr, token)
}

// serveMetrics shows the node's own lines to all, and those of databases to callers that may use them.
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
