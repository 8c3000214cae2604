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
)

// Settings configure the issuer and the lifetimes of tokens. The zero value is off.
type Settings struct {
	Issuer string // the origin at which clients reach /mcp of any member: https://HOST, or http on a loopback host

	CodeLife    time.Duration // default 1m: time to redeem a code
	AccessLife  time.Duration // default 1h: lifetime of an access token
	RefreshLife time.Duration // default 30 days: lifetime of a refresh token
}

// WithDefaults returns the settings with defaults for zero values.
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

// Config configures a server. All fields are required.
type Config struct {
	Settings
	Door    api.Door
	Access  *access.Control
	Secrets []string // the cluster's secrets: the first seals, all open
}

// A Server answers clients and the consent page. It implements gateway.Dialect and gateway.Authorizer. Its methods
// may be called from any goroutine.
type Server struct {
	cfg      Config
	resource string
	sealer   *sealer
	fetcher  *fetcher
}

// New returns a server. The settings must have an issuer.
func New(cfg Config) (*Server, error) {
	cfg.Settings = cfg.WithDefaults()
	s := &Server{cfg: cfg, resource: cfg.Issuer + "/mcp", fetcher: newFetcher(isPublic, nil)}
	var err error
	s.sealer, err = newSealer(cfg.Secrets, s.resource)
	return s, err
}

// Name implements gateway.Dialect.
func (*Server) Name() string { return "oauth" }

// Issuer implements gateway.Authorizer.
func (s *Server) Issuer() string { return s.cfg.Issuer }

// noRight is the operation of routes that need no token.
var noRight = &api.Op{Name: "oauth"}

// A route is the operation whose right a caller needs before the body is read, and the handler.
type route struct {
	right  *api.Op
	answer func(*Server, *exchange) (status int, answer any, err error)
}

// routes maps the patterns of the server to their routes. The console serves the page at /oauth/authorize.
var routes = map[string]route{
	"GET /.well-known/oauth-authorization-server": {noRight, (*Server).metadata},
	"POST /oauth/register":                        {noRight, (*Server).register},
	"POST /oauth/consent":                         {api.GiveConsent.Op, (*Server).consent},
	"POST /oauth/token":                           {noRight, (*Server).token},
}

// An exchange is a request and its caller.
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

// Reject implements gateway.Dialect. It returns errors as RFC 6749, section 5.2, specifies.
func (*Server) Reject(e *oplog.Error, status int, code string) (int, any) {
	return status, object{"error": code, "error_description": e.Text}
}

// oauthError returns an error with an error code of OAuth.
func oauthError(code, format string, args ...any) error {
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

// grants are the grant types of the token endpoint.
var grants = []string{"authorization_code", "refresh_token"}

// Issued implements gateway.Authorizer.
func (*Server) Issued(text string) bool { return strings.HasPrefix(text, accessPrefix) }

// Login implements gateway.Authorizer. The caller has the rights of the consent's token, until the access token
// expires.
func (s *Server) Login(ctx context.Context, from, text string) (api.Caller, error) {
	var t ticket
	if !s.sealer.open(accessPrefix, text, &t) || t.Until.Time().Before(s.cfg.Access.Now()) {
		t = ticket{} // counts as a wrong token of the address
	}
	c, err := s.cfg.Access.LoginHash(ctx, from, t.Consent)
	c.Until = t.Until
	return c, err
}

// onLoopback reports whether a URL is plain HTTP to this machine.
func onLoopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}
