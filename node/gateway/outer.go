package gateway

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/ownhost"
)

// answerTimeout bounds the time that a client has to read an answer, or the next piece of a long one. Event streams
// set their own deadlines.
const answerTimeout = 2 * time.Minute

// outer wraps every exchange: it sets the request id, checks the host and the origin, answers unknown routes in JSON,
// and logs a line.
func (g *Gateway) outer(mux *http.ServeMux) http.Handler {
	early := map[string]bool{} // routes that work before the node has opened its log
	for _, op := range api.Ops {
		early[op.HTTP] = early[op.HTTP] || op.Early
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		start := time.Now()
		w := &answerWriter{ResponseWriter: rw}
		id := r.Header.Get("X-Request-Id")
		if !printable(id) {
			id = uuid.NewString()
		}
		h := w.Header()
		h.Set("X-Request-Id", id)
		h.Set("X-Content-Type-Options", "nosniff")
		w.extendDeadline(start)
		if r.ContentLength != 0 { // bounds how long the server discards a body that no handler reads
			_ = http.NewResponseController(rw).SetReadDeadline(start.Add(bodyTimeout)) // only tests' connections lack deadlines
		}
		defer func() {
			g.cfg.Metrics.Answered(w.status)
			g.cfg.Log.Debug("request", "surface", "http", "id", id, "method", r.Method, "route", r.Pattern,
				"status", w.status, "took", time.Since(start))
		}()
		if !g.hostAllowed(r) {
			rejectUnread(w, r)
			writeJSON(w, http.StatusForbidden, failure{"Host not allowed: " + r.Host, "forbidden"})
			return
		}
		if g.cors(w, r) {
			return
		}
		_, pattern := mux.Handler(r)
		if pattern == "" {
			unrouted(w, r, mux)
			return
		}
		if !early[pattern] && g.cfg.WaitOpen(r.Context()) != nil {
			panic(http.ErrAbortHandler) // the client has left; returning would answer 200
		}
		mux.ServeHTTP(w, r)
	})
}

// hostAllowed reports whether a request over loopback names this node in its Host header. This stops DNS rebinding: a
// web page whose name resolves to this machine has another Host. Requests from other machines may use any name.
func (g *Gateway) hostAllowed(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return r.Host == "" || at == nil || !at.IP.IsLoopback() || ownhost.Is(r.Host, at) ||
		slices.Contains(g.cfg.Hosts, strings.ToLower(ownhost.Name(r.Host)))
}

// printable reports whether a client's request id may be sent back and logged.
func printable(id string) bool {
	return id != "" && len(id) <= 128 && !slices.ContainsFunc([]byte(id), func(b byte) bool { return b <= ' ' || b > '~' })
}

// cors lets pages of configured origins send requests. It answers preflight requests itself.
func (g *Gateway) cors(w http.ResponseWriter, r *http.Request) (done bool) {
	origin := r.Header.Get("Origin")
	if origin == "" || len(g.cfg.CORSOrigins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if !slices.Contains(g.cfg.CORSOrigins, origin) && !slices.Contains(g.cfg.CORSOrigins, "*") {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, Location, X-Cairn-Leader, Mcp-Session-Id, WWW-Authenticate")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	may := "Authorization, Content-Type, Accept, Last-Event-ID, X-Request-Id, Idempotency-Key, X-Cairn-Forward, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Param-Namespace, Mcp-Param-Database"
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" { // clients of dialects send headers of their own
		may += ", " + asked
	}
	h.Set("Access-Control-Allow-Headers", may)
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// unrouted answers a request without a route. It asks the mux whether the path has another method or another
// spelling.
func unrouted(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	probe := muxProbe{header: http.Header{}, status: http.StatusOK}
	mux.ServeHTTP(&probe, r)
	switch {
	case probe.status == http.StatusMethodNotAllowed:
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		writeJSON(w, probe.status, failure{"method " + r.Method + " not allowed: want " + allow, "method_not_allowed"})
	case probe.header.Get("Location") != "":
		w.Header().Set("Location", probe.header.Get("Location"))
		w.WriteHeader(probe.status)
	default:
		writeJSON(w, http.StatusNotFound, failure{"no such route: /docs lists them", "not_found"})
	}
}

// A muxProbe records the status and the header of the mux's own answer, and drops its body.
type muxProbe struct {
	header http.Header
	status int
}

func (p *muxProbe) Header() http.Header         { return p.header }
func (p *muxProbe) WriteHeader(status int)      { p.status = status }
func (p *muxProbe) Write(b []byte) (int, error) { return len(b), nil }

// An answerWriter records the status and extends the write deadline of long answers.
type answerWriter struct {
	http.ResponseWriter
	status       int
	extended     time.Time // when the write deadline was last set
	ownDeadlines bool      // the handler sets its own deadlines
}

// SetWriteDeadline is called through http.ResponseController by a handler that sets its own deadlines from then on.
func (w *answerWriter) SetWriteDeadline(t time.Time) error {
	w.ownDeadlines = true
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// extendEvery is the time after which a write extends the deadline.
const extendEvery = 10 * time.Second

// extendDeadline extends the client's deadline to answerTimeout from now.
func (w *answerWriter) extendDeadline(now time.Time) {
	w.extended = now
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(now.Add(answerTimeout)) // only tests' connections lack deadlines
}

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *answerWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if now := time.Now(); !w.ownDeadlines && now.Sub(w.extended) > extendEvery {
		w.extendDeadline(now)
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher for handlers that do not use http.ResponseController.
func (w *answerWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController find the wrapped writer.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
