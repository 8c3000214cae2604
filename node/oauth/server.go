package oauth

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Settings say whose tokens are issued, and for how long. The zero value is off.
type Settings struct {
	Issuer string // https://HOST, or http on a loopback host: the origin at which clients reach /mcp of any member

	CodeLife    time.Duration // 1m: until a client redeems its code
	AccessLife  time.Duration // 1h: of an access token
	RefreshLife time.Duration // 30 days: after which a client that did not come back has to ask again
}

// WithDefaults sets what is zero.
func (s Settings) WithDefaults() Settings {
	s.CodeLife = cmp.Or(s.CodeLife, time.Minute)
	s.AccessLife = cmp.Or(s.AccessLife, time.Hour)
	s.RefreshLife = cmp.Or(s.RefreshLife, 30*24*time.Hour)
	return s
}

// Validate rejects an issuer that no client would accept.
func (s Settings) Validate() error {
	if s.Issuer == "" {
		return nil
	}
	u, err := url.Parse(s.Issuer)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != s.Issuer || u.Scheme != "https" && !onLoopback(u) {
		return fmt.Errorf("oauth_issuer %q: want https://HOST, or http:// with a loopback host, and no path: the URL at which clients find the gateway, without /mcp", s.Issuer)
	}
	return nil
}

// Config says what a server works with. All of it is required.
type Config struct {
	Settings
	Door    api.Door
	Access  *access.Control
	Secrets []string // of the cluster: the first seals, all open
}

// A Server answers clients and the page of consent. It implements gateway.Dialect and gateway.Authorizer; its methods
// may be called from any goroutine.
type Server struct {
	cfg      Config
	resource string
	sealer   *sealer
	fetcher  *fetcher
}

// New makes a server from settings with an issuer.
func New(cfg Config) (*Server, error) {
	cfg.Settings = cfg.WithDefaults()
	s := &Server{cfg: cfg, resource: cfg.Issuer + "/mcp", fetcher: newFetcher(public, nil)}
	var err error
	s.sealer, err = newSealer(cfg.Secrets, s.resource)
	return s, err
}

// Name is its name in metrics.
func (*Server) Name() string { return "oauth" }

// Issuer is the configured one.
func (s *Server) Issuer() string { return s.cfg.Issuer }

// open is the right that the routes without a token need: none.
var open = &api.Op{Name: "oauth"}

// A route is a path's operation, whose right a caller needs before the body is read, and its handler.
type route struct {
	right  *api.Op
	answer func(*Server, *exchange) (status int, answer any, err error)
}

// routes are the protocol at a glance. The page at /oauth/authorize is the console's.
var routes = map[string]route{
	"GET /.well-known/oauth-authorization-server": {open, (*Server).metadata},
	"POST /oauth/register":                        {open, (*Server).register},
	"POST /oauth/consent":                         {api.GiveConsent.Op, (*Server).consent},
	"POST /oauth/token":                           {open, (*Server).token},
}

// An exchange is one call.
type exchange struct {
	r      *http.Request
	c      api.Caller
	decode func(to any) error
}

// Routes implements gateway.Dialect.
func (*Server) Routes() map[string]*api.Op {
	return api.Rights(routes, func(r route) *api.Op { return r.right })
}

// Serve implements gateway.Dialect.
func (s *Server) Serve(r *http.Request, c api.Caller, decode func(to any) error) (status int, answer any, err error) {
	return routes[r.Pattern].answer(s, &exchange{r, c, decode})
}

type object = map[string]any

// Reject implements gateway.Dialect: the errors of RFC 6749, section 5.2.
func (*Server) Reject(e *oplog.Error, status int, code string) (int, any) {
	return status, object{"error": code, "error_description": e.Text}
}

// refusal is an error with one of OAuth's codes.
func refusal(code, format string, args ...any) error {
	return &api.Refusal{Code: code, Err: oplog.Errorf(oplog.Invalid, format, args...)}
}

// Scopes lists the rights that a client may request.
var Scopes = []string{string(api.Read), string(api.Write)}

func (s *Server) metadata(*exchange) (int, any, error) {
	at := s.cfg.Issuer + "/oauth/"
	return http.StatusOK,
		object{"issuer": s.cfg.Issuer, "authorization_endpoint": at + "authorize", "token_endpoint": at + "token",
			"registration_endpoint": at + "register",
			"scopes_supported":      Scopes, "response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
			"grant_types_supported": grants, "token_endpoint_auth_methods_supported": []string{"none"},
			"code_challenge_methods_supported":      []string{"S256"},
			"client_id_metadata_document_supported": true, "authorization_response_iss_parameter_supported": true,
			"service_documentation": s.cfg.Issuer + "/docs"}, nil
}

// grants are the grant types that the token endpoint knows.
var grants = []string{"authorization_code", "refresh_token"}

// Issued reports whether a text looks like an access token of this server.
func (*Server) Issued(text string) bool { return strings.HasPrefix(text, accessPrefix) }

// Login lets in the client that shows an access token at /mcp: as the token that its consent made, until the access
// token expires.
func (s *Server) Login(ctx context.Context, from, text string) (api.Caller, error) {
	var t ticket
	if !s.sealer.open(accessPrefix, text, &t) || t.Until.Time().Before(s.cfg.Access.Now()) {
		t = ticket{}
	}
	c, err := s.holder(ctx, from, t)
	c.Until = t.Until
	return c, err
}

// behindWait bounds how long a client waits for a node that lacks the consent, because another node has just made it.
const behindWait = 2 * time.Second

// holder is the caller that a ticket makes; a zero one makes none and is counted as a wrong token.
func (s *Server) holder(ctx context.Context, from string, t ticket) (api.Caller, error) {
	if t.Index > 0 {
		ctx, cancel := context.WithTimeout(ctx, behindWait)
		defer cancel()
		if _, err := api.Await.Do(ctx, s.cfg.Door, access.Node(),
			&api.AwaitRequest{Fresh: api.Fresh{MinIndex: field.Token(t.Index)}}); err != nil {
			return api.Caller{}, err
		}
	}
	return s.cfg.Access.LoginHash(ctx, from, t.Consent)
}

// onLoopback reports whether a URL is plain HTTP to this machine itself.
func onLoopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}
