package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

// A model's answer holds at most 4 MiB of memories. Each is sent as text and as an object, and encoded for both.
const (
	maxModelAnswer = 4 << 20
	modelCopies    = 12
)

const (
	modelsPath           = "/mcp"
	resourceMetadataPath = "/.well-known/oauth-protected-resource"
	modelScopes          = "read write" // the scopes that tools need
)

// Authorizer issues access tokens to clients that act for a person. They are valid for /mcp only.
type Authorizer interface {
	Dialect
	// Issuer returns the origin at which clients reach /mcp, on whichever node.
	Issuer() string
	// Issued reports whether a token looks like one of its access tokens.
	Issued(token string) bool
	// Login returns the caller of an access token that a client at an address sent.
	Login(ctx context.Context, from, token string) (api.Caller, error)
}

// origin returns the origin of /mcp: the configured issuer, or without one the origin that the request was sent to.
func (g *Gateway) origin(r *http.Request) string {
	if g.cfg.OAuth != nil {
		return g.cfg.OAuth.Issuer()
	}
	return origin(r)
}

// origin returns the origin of this server as the client of a request knows it.
func origin(r *http.Request) string {
	at := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		at.Scheme = "https"
	}
	return at.String()
}

// serveResourceMetadata serves the protected resource metadata of RFC 9728: how to send a token, and who issues one.
// Without an authorization server, `cairn token create` makes tokens.
func (g *Gateway) serveResourceMetadata(w http.ResponseWriter, r *http.Request) {
	var servers []string
	if g.cfg.OAuth != nil {
		servers = []string{g.cfg.OAuth.Issuer()}
	}
	writeJSON(w, http.StatusOK, struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
		Scopes   []string `json:"scopes_supported"`
		Name     string   `json:"resource_name"`
	}{g.origin(r) + modelsPath, servers, []string{"header"}, strings.Fields(modelScopes), "Cairn memory"})
}

// challenge sets WWW-Authenticate: how to get a token, and the error of the one that was sent.
func (g *Gateway) challenge(w http.ResponseWriter, r *http.Request, err error) {
	var refused *api.Refusal
	header := `Bearer resource_metadata="` + g.origin(r) + resourceMetadataPath + modelsPath + `", scope="` + modelScopes + `"`
	switch {
	case errors.As(err, &refused):
		header += `, error="` + refused.Code + `"`
	case r.Header.Get("Authorization") != "":
		header += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", header)
}

// serveModels authenticates clients of MCP and reads their messages.
func (g *Gateway) serveModels(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	q := &request{g: g, w: w, r: r, accessTokens: true}
	defer func() { q.c.Hold.Release() }() // after the answer is sent
	done, err := g.identify(q, api.Message.Op)
	defer done()
	if err == nil {
		err = g.cfg.Access.Ready(q.c) // the MCP server counts each message
	}
	message, release := []byte(nil), func() {}
	if err == nil {
		message, release, err = q.bodyOf(maxSmallBody)
	}
	defer release()
	if err != nil {
		rejectUnread(w, r)
		if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
			g.challenge(w, r, err)
		}
		g.fail(w, r, q.causeOf(err))
		return
	}
	if err := q.acquireSlot(); err != nil {
		g.fail(w, r, err)
		return
	}
	defer q.releaseSlot()
	defer func() { g.cfg.Metrics.Handled("mcp", time.Since(start)) }()
	q.c.Hold.Narrow(maxModelAnswer, modelCopies)
	q.c.Forward, q.c.Surface = true, "mcp" // models do not know of a cluster
	var decoded func()
	if len(message) >= large.From {
		done, err := g.cfg.Turns.Take(q.r.Context())
		if err != nil {
			g.fail(w, r, q.causeOf(err)) // the client left or its rights ended
			return
		}
		decoded = sync.OnceFunc(done)
		defer decoded()
	}
	g.cfg.Models.Serve(q.w, q.r, q.c, message, decoded)
	a, ok := w.(*answerWriter)
	if !ok || q.r.Context().Err() == nil {
		return
	}
	if a.status == 0 {
		g.fail(w, r, q.causeOf(context.Canceled))
	} else if b, ok := q.w.(*boundWriter); ok && b.incomplete {
		panic(http.ErrAbortHandler) // the answer is incomplete, so abort the connection
	}
}
