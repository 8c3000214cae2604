package covenant

import (
	"cmp"
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

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/covenant/verbs"
	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/wire/large"
	"github.com/cairndb/cairn/wire/sse"
)

func (s *Server) listenHTTP() error {
	ln, err := net.Listen("tcp", s.Config.HTTP)
	if err != nil {
		return fmt.Errorf("http mirror: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, kit.Object{"status", "ok"})
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, verbs.ProtocolInfo) })
	for _, k := range verbs.Table {
		if k.Path != "" {
			mux.HandleFunc(k.Path, func(w http.ResponseWriter, r *http.Request) { s.serveRoute(k.Verb, k.Route, w, r) })
		}
	}
	s.httpAt = ln.Addr().String()
	d := &door.Door{Origins: s.Config.Origins, Hint: "send a token: the operator's is in " + s.TokenPath(),
		Token: func(bearer string) bool { _, ok := s.Peers.Resolve(bearer); return ok }}
	// A request that the door rejects has no audit row.
	end := s.AcceptHTTP(ln, d, s.Ctx, func(w http.ResponseWriter, _ *http.Request, why string) {
		reply(w, http.StatusForbidden, protocol.ErrorFrame(why))
	}, withCORS(mux))
	s.closers = append(s.closers, func() error { return end(closeTimeout) })
	return nil
}

// withCORS adds headers that let web pages which the door accepts read the answers.
func withCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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

func (s *Server) serveRoute(run verbs.Verb, rt verbs.Route, w http.ResponseWriter, r *http.Request) {
	who, token, status, err := s.authenticateBearer(r)
	if err != nil {
		reply(w, status, protocol.ErrorFrame(err.Error()))
		return
	}
	if r.ContentLength > serve.LargeRequest || r.ContentLength < 0 {
		done, err := s.large.Acquire(r.Context())
		if err != nil {
			return // the client has gone, or the server is closing
		}
		defer done()
	}
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	f, err := s.fieldsOf(rt, w, r)
	if err != nil {
		status := http.StatusBadRequest
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		reply(w, status, protocol.ErrorFrame(err.Error()))
		return
	}
	events := rt.Streams && sse.Wanted(r)
	delete(f.Members, "prefer_stream")
	if events {
		f.Members["prefer_stream"] = json.RawMessage("true")
	}
	do := run.Prepare(f)
	if f.Err != nil {
		reply(w, http.StatusUnprocessableEntity, protocol.ErrorFrame(f.Err.Error()))
		return
	}
	// As on the socket, a request that was read runs to its end: what is stored for a client that left gets its audit row.
	answer, err := do(s.Ctx, &verbs.Session{Home: s.Home, Peer: *who, Transport: "http"})
	if st, ok := answer.(*protocol.Stream); ok && err == nil {
		serveEvents(w, st, func() error {
			if _, ok := s.Peers.Resolve(token); !ok {
				return errors.New(protocol.InvalidToken)
			}
			return nil
		})
		return
	}
	if err != nil {
		answer = protocol.ErrorFrame(err.Error())
	}
	reply(w, http.StatusOK, answer)
}

// authenticateBearer returns the agent of the token in a request, and the token.
func (s *Server) authenticateBearer(r *http.Request) (who *home.AgentID, token string, status int, err error) {
	reason := ""
	auth := r.Header.Get("Authorization")
	scheme, rest, _ := strings.Cut(auth, " ")
	token = strings.TrimSpace(rest)
	switch {
	case auth == "":
		reason = "missing Authorization header"
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		reason = "expected `Authorization: Bearer <token>`"
	case !home.IsToken(token):
		reason = "malformed bearer token"
	default:
		if who, err = s.IdentityOf(r.Context(), token); err != nil {
			return nil, "", http.StatusServiceUnavailable, err
		}
		if who != nil {
			return who, token, 0, nil
		}
		reason = protocol.InvalidToken
	}
	if _, err := s.FailAuthentication("http", reason); err != nil {
		return nil, "", http.StatusInternalServerError, err
	}
	return nil, "", http.StatusUnauthorized, errors.New(reason)
}

// fieldsOf returns the fields of a request, decoded like those on the socket.
func (s *Server) fieldsOf(rt verbs.Route, w http.ResponseWriter, r *http.Request) (*serve.Fields, error) {
	if rt.NoBody || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return queryFields(rt.Query, r.URL.Query())
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, errors.New("expected Content-Type application/json")
	}
	body, err := large.Body(w, r, protocol.MaxFrame)
	if err != nil {
		return nil, err
	}
	if rt.BodyField != "" {
		return &serve.Fields{Members: map[string]json.RawMessage{rt.BodyField: body}}, nil
	}
	f := s.parse(body)
	return f, f.Err
}

func queryFields(params string, q url.Values) (*serve.Fields, error) {
	f := &serve.Fields{Members: map[string]json.RawMessage{}}
	for _, p := range strings.Fields(params + " min_index# consistency") {
		p, def, number := strings.Cut(p, "#")
		name, field, _ := strings.Cut(p, ":")
		if !q.Has(name) && def == "" {
			continue
		}
		v := def
		if q.Has(name) {
			v = q.Get(name)
		}
		raw := json.RawMessage(v)
		var err error
		if !number {
			raw, err = kit.JSON(v)
		} else if _, err = strconv.ParseFloat(v, 64); err != nil {
			err = fmt.Errorf("%s: not a number", name)
		}
		if err != nil {
			return nil, err
		}
		f.Members[cmp.Or(field, name)] = raw
	}
	return f, nil
}

func reply(w http.ResponseWriter, status int, v any) {
	b, err := kit.JSON(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"answer could not be written"}`)
	}
	serve.Reply(w, status, b)
}

// serveEvents sends each frame of a stream as a server-sent event. authorize runs before each chunk.
func serveEvents(w http.ResponseWriter, st *protocol.Stream, authorize func() error) {
	sse.Start(w, "no-cache")
	out := http.NewResponseController(w)
	st.Each(authorize, func(kind string, frame []byte) bool {
		_, err := w.Write(sse.Append(nil, "", kind, frame))
		return err == nil && (kind == "stream_chunk" || out.Flush() == nil)
	})
}
