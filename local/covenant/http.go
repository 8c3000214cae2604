package covenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/wire/large"
)

// A route is a verb over HTTP: its parameters come from the query, or the body is its fields.
type route struct {
	path   string // method and path
	kind   string
	params []param // of the query; nil for a body
	under  string  // the body is this one field
	stream bool    // may be answered as server-sent events
}

type param struct {
	name, as string // the field, when it is called something else
	text     bool   // a string, not a number
	def      string
}

var (
	tierParam  = param{name: "tier", text: true}
	limit10    = param{name: "limit", def: "10"}
	limit20    = param{name: "limit", def: "20"}
	sinceParam = param{name: "since_ms"}
)

// routes is the mirror at a glance.
var routes = []route{
	{path: "POST /intent", kind: "submit_intent", stream: true},
	{path: "GET /memory/recent", kind: "recent_memory", params: []param{tierParam, limit10}, stream: true},
	{path: "GET /memory/search", kind: "search_memory", params: []param{{name: "q", as: "query", text: true}, tierParam, limit10, {name: "min_relevance"}}},
	{path: "POST /memory/purge", kind: "purge_memory"},
	{path: "GET /receipts/recent", kind: "recent_receipts", params: []param{limit10, sinceParam}},
	{path: "GET /capabilities/recent", kind: "recent_capabilities", params: []param{limit10}},
	{path: "POST /capabilities/grant", kind: "grant_capability"},
	{path: "POST /capabilities/revoke", kind: "revoke_capability"},
	{path: "POST /capabilities/purge", kind: "purge_capabilities"},
	{path: "GET /verify", kind: "verify", params: []param{{name: "window", def: "100"}}},
	{path: "POST /ignore/check", kind: "ignore_check"},
	{path: "GET /tools", kind: "list_tools", params: []param{}},
	{path: "POST /tools/call", kind: "call_tool"},
	{path: "GET /audit/recent", kind: "recent_audit", params: []param{limit20, sinceParam}, stream: true},
	{path: "GET /audit/verify", kind: "verify_audit_integrity", params: []param{}},
	{path: "POST /audit/purge", kind: "purge_audit"},
	{path: "POST /a2a/tasks", kind: "send_a2_a_task", under: "task"},
	{path: "GET /a2a/tasks/next", kind: "try_recv_a2_a_task", params: []param{}},
	{path: "GET /a2a/tasks/recent", kind: "a2_a_queue", params: []param{limit10}},
	{path: "POST /a2a/results", kind: "post_a2_a_result", under: "result"},
	{path: "GET /a2a/results/next", kind: "try_recv_a2_a_result", params: []param{}},
	{path: "GET /a2a/results/recent", kind: "a2_a_queue", params: []param{limit10}},
	{path: "GET /a2a/queue", kind: "a2_a_queue", params: []param{limit10, {name: "min_lease_age_ms"}, {name: "deadline_within_ms"}, {name: "state_filter", text: true}}},
	{path: "GET /peers/list", kind: "list_peers", params: []param{limit20, {name: "pubkey_prefix", text: true}, {name: "status_filter", text: true}}},
	{path: "POST /peers/enroll", kind: "enroll_peer"},
	{path: "POST /peers/purge", kind: "purge_peers"},
	{path: "POST /peers/rotate", kind: "rotate_operator_token", params: []param{}},
	{path: "POST /peers/revoke", kind: "revoke_peer"},
}

func (s *Server) listenHTTP() error {
	ln, err := net.Listen("tcp", s.cfg.HTTP)
	if err != nil {
		return fmt.Errorf("http mirror: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, kit.Object{"status", "ok"})
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		info, _ := protocolInfo(nil)(r.Context(), nil) // never fails
		reply(w, http.StatusOK, info)
	})
	for _, rt := range routes {
		mux.HandleFunc(rt.path, func(w http.ResponseWriter, r *http.Request) { s.serveRoute(rt, w, r) })
	}
	s.httpAt = ln.Addr().String()
	d := &door.Door{Origins: s.cfg.Origins, Hint: "send a token: the operator's is in " + s.tokenPath(),
		Token: func(bearer string) bool { _, ok := s.peers.resolve(bearer); return ok }}
	s.http = &http.Server{Handler: s.enter(d, mux), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return s.ctx }}
	s.tasks.Go(func() {
		if err := d.Serve(s.http, ln); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("http mirror ended", "err", err)
		}
	})
	return nil
}

// enter refuses what the door does not let in, without a trace in the audit log, and lets pages of the configured origins read
// the answers.
func (s *Server) enter(d *door.Door, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := d.Refuses(r); why != "" {
			w.Header().Set("Connection", "close")
			reply(w, http.StatusForbidden, fault(why))
			return
		}
		h := w.Header()
		h.Add("Vary", "Origin")
		if o := r.Header.Get("Origin"); o != "" {
			h.Set("Access-Control-Allow-Origin", o)
			h.Set("Access-Control-Allow-Credentials", "true")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			}
		}
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusOK)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) serveRoute(rt route, w http.ResponseWriter, r *http.Request) {
	who, status, err := s.bearer(r)
	if err != nil {
		reply(w, status, fault(err.Error()))
		return
	}
	if r.ContentLength > kit.LargeRequest || r.ContentLength < 0 {
		done, err := s.large.Place(r.Context())
		if err != nil {
			return // the client has gone, or the server is about to
		}
		defer done()
	}
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTime)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	f, err := rt.fields(s, w, r)
	if err != nil {
		status := http.StatusBadRequest
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		reply(w, status, fault(err.Error()))
		return
	}
	events := rt.stream && kit.WantsEvents(r)
	delete(f.m, "prefer_stream")
	if events {
		f.m["prefer_stream"] = json.RawMessage("true")
	}
	run := verbs[rt.kind](f)
	if f.err != nil {
		reply(w, http.StatusUnprocessableEntity, fault(f.err.Error()))
		return
	}
	answer, err := run(r.Context(), &session{srv: s, peer: *who, transport: "http"})
	if st, ok := answer.(*stream); ok && err == nil {
		serveEvents(w, st)
		return
	}
	if err != nil {
		answer = fault(err.Error())
	}
	reply(w, http.StatusOK, answer)
}

// bearer is the agent whose token a request carries.
func (s *Server) bearer(r *http.Request) (who *AgentID, status int, err error) {
	reason := ""
	auth := r.Header.Get("Authorization")
	scheme, token, _ := strings.Cut(auth, " ")
	token = strings.TrimSpace(token)
	switch {
	case auth == "":
		reason = "missing Authorization header"
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		reason = "expected `Authorization: Bearer <token>`"
	case !isToken(token):
		reason = "malformed bearer token"
	default:
		if who, err = s.identityOf(r.Context(), token); err != nil {
			return nil, http.StatusServiceUnavailable, err
		}
		if who != nil {
			return who, 0, nil
		}
		reason = textToken
	}
	if _, err := s.failAuthentication("http", reason); err != nil {
		return nil, http.StatusInternalServerError, err
	}
	return nil, http.StatusUnauthorized, errors.New(reason)
}

// fields are the request's, read as the socket's are.
func (rt route) fields(s *Server, w http.ResponseWriter, r *http.Request) (*fields, error) {
	if rt.params != nil {
		return query(rt.params, r.URL.Query())
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, errors.New("expected Content-Type application/json")
	}
	body, err := large.Body(w, r, MaxFrame)
	if err != nil {
		return nil, err
	}
	if rt.under != "" {
		return &fields{m: map[string]json.RawMessage{rt.under: body}}, nil
	}
	f := s.parse(body)
	return f, f.err
}

func query(params []param, q url.Values) (*fields, error) {
	f := &fields{m: map[string]json.RawMessage{}}
	for _, p := range params {
		v, given := p.def, p.def != ""
		if q.Has(p.name) {
			v, given = q.Get(p.name), true
		}
		if !given {
			continue
		}
		raw := json.RawMessage(v)
		if p.text {
			var err error
			if raw, err = kit.JSON(v); err != nil {
				return nil, err
			}
		} else if _, err := strconv.ParseFloat(v, 64); err != nil {
			return nil, fmt.Errorf("%s: not a number", p.name)
		}
		name := p.name
		if p.as != "" {
			name = p.as
		}
		f.m[name] = raw
	}
	return f, nil
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := kit.JSON(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"answer could not be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

// serveEvents writes each frame of a stream as an event of its kind.
func serveEvents(w http.ResponseWriter, st *stream) {
	kit.StartEvents(w)
	out := http.NewResponseController(w)
	st.each(func(b []byte) bool {
		var k struct {
			Kind string `json:"kind"`
		}
		if json.Unmarshal(b, &k) != nil {
			return false
		}
		if _, err := w.Write(kit.AppendEvent(nil, k.Kind, b)); err != nil {
			return false
		}
		return k.Kind == "stream_chunk" || out.Flush() == nil
	})
}
