package oauth

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// Bounds of a client's metadata. A client_id that contains the metadata fits into a URL.
const (
	maxName      = 80 // in characters
	maxRedirects = 8
	maxRedirect  = 512 // in bytes
	maxAll       = 2 << 10
)

// A client is the metadata of a client, from its registration or its document.
type client struct {
	Name      string   `json:"client_name,omitempty"`
	Redirects []string `json:"redirect_uris"`
	Type      string   `json:"application_type,omitempty"`

	host string // host of its document; empty for a registered client
}

// displayName returns a client's name for the person who decides whether to let it in.
func (c client) displayName() string { return cmp.Or(c.Name, "a client without a name") }

// validated returns the client with a printable name, or an error if its metadata is invalid.
func (c client) validated() (client, error) {
	c.Name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // a control character could reverse the surrounding text
			return -1
		}
		return r
	}, c.Name))
	if name := []rune(c.Name); len(name) > maxName {
		c.Name = string(name[:maxName]) + "…"
	}
	if c.Type != "" && c.Type != "native" && c.Type != "web" {
		return c, oauthError("invalid_client_metadata", "application_type: want native or web")
	}
	size := 0
	for _, r := range c.Redirects {
		size += len(r)
		if !mayRedirect(r) {
			return c, oauthError("invalid_redirect_uri",
				"redirect_uris: want https, or http on a loopback host, without a fragment or a user, in %d bytes: got %.100q",
				maxRedirect, r)
		}
	}
	if len(c.Redirects) == 0 || len(c.Redirects) > maxRedirects || size > maxAll {
		return c, oauthError("invalid_redirect_uri", "redirect_uris: want 1 to %d of them, in %d bytes together", maxRedirects, maxAll)
	}
	return c, nil
}

// mayRedirect reports whether a code may be sent to a URI at all.
func mayRedirect(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && len(raw) <= maxRedirect && u.Host != "" && u.User == nil && !strings.ContainsRune(raw, '#') &&
		(u.Scheme == "https" || onLoopback(u))
}

// redirectsTo reports whether a client may receive its codes at a URI. On loopback the port may differ, because
// native clients use any free port.
func (c client) redirectsTo(uri string) bool {
	for _, own := range c.Redirects {
		if own == uri || mayRedirect(uri) && portless(own) != "" && portless(own) == portless(uri) {
			return true
		}
	}
	return false
}

// portless returns a loopback URI without its port, and "" for any other URI.
func portless(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || !onLoopback(u) {
		return ""
	}
	_, rest, _ := strings.Cut(uri, u.Host)
	return u.Hostname() + rest
}

// register answers a client that registers itself. Nothing is stored: the client_id contains the registration. The
// answer has the metadata that the client gets, which may differ from the requested, as RFC 7591 allows.
func (s *Server) register(x *exchange) (int, any, error) {
	if err := s.cfg.Access.Attempt(x.r.RemoteAddr); err != nil {
		return 0, nil, err
	}
	var c client
	if err := x.decode(&c); err != nil {
		return 0, nil, oauthError("invalid_client_metadata", "%s", err)
	}
	c, err := c.validated()
	if err != nil {
		return 0, nil, err
	}
	answer := object{"client_id": s.sealer.seal(clientPrefix, c), "client_id_issued_at": time.Now().Unix(), "redirect_uris": c.Redirects,
		"grant_types": grants, "response_types": []string{"code"}, "token_endpoint_auth_method": "none", "scope": strings.Join(Scopes, " ")}
	if c.Name != "" {
		answer["client_name"] = c.Name
	}
	if c.Type != "" {
		answer["application_type"] = c.Type
	}
	return http.StatusCreated, answer, nil
}

// clientOf returns the client with an id. It may fetch a document, so it is called only for a person who has signed
// in.
func (s *Server) clientOf(ctx context.Context, from, id string) (c client, err error) {
	if strings.HasPrefix(id, "https://") {
		if err := s.cfg.Access.Attempt(from); err != nil {
			return c, err
		}
		c, err = s.fetcher.fetch(ctx, id)
		if err != nil {
			return c, oauthError("invalid_client", "client_id %.200s: %s", id, err)
		}
	} else if !s.sealer.open(clientPrefix, id, &c) {
		return c, oauthError("invalid_client",
			"client_id: no such client: register it at %s/oauth/register, or name the https URL of its metadata document", s.cfg.Issuer)
	}
	return c, nil
}
