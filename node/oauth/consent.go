package oauth

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A consentRequest is the request of the consent page: the client's parameters, and the person's decision.
type consentRequest struct {
	ClientID  string `json:"client_id"`
	Redirect  string `json:"redirect_uri"`
	Type      string `json:"response_type"`
	Challenge string `json:"code_challenge"`
	Method    string `json:"code_challenge_method"`
	Resource  string `json:"resource"`
	Scope     string `json:"scope"`
	State     string `json:"state"`

	Decision string   `json:"decision"` // allow or deny; empty: only show the request
	Scopes   []string `json:"scopes"`   // the offered scopes that the person allows
	Spaces   []string `json:"namespaces"`
}

// A consentPage is the content of the page.
type consentPage struct {
	Client   string       `json:"client_name"`
	Host     string       `json:"client_host,omitempty"` // host of the client's document; absent for a registered client
	Redirect string       `json:"redirect_host"`         // host that gets the code
	Database string       `json:"database"`
	Label    string       `json:"label"` // label of the token that the person signed in with
	Scopes   []string     `json:"scopes"`
	Spaces   oplog.Spaces `json:"namespaces"`
}

// maxState bounds the state that a client gets back as it sent it.
const maxState = 4 << 10

// consent answers the page. Only the person learns of errors of the client or its redirect URI. Other errors also go
// to the client, when the person follows the link back to it: the page never redirects by itself.
func (s *Server) consent(x *exchange) (int, any, error) {
	var q consentRequest
	if err := x.decode(&q); err != nil {
		return 0, nil, err
	}
	c, err := s.clientOf(x.r.Context(), x.r.RemoteAddr, q.ClientID)
	if err != nil {
		return 0, nil, err
	}
	if !c.redirectsTo(q.Redirect) {
		return 0, nil, oauthError("invalid_request", "redirect_uri %.200q is not one of the client's", q.Redirect)
	}
	if len(q.State) > maxState {
		return 0, nil, oauthError("invalid_request", "state is over %d bytes", maxState)
	}
	offered, code, reason := s.offeredScopes(x.c, q)
	switch {
	case code != "":
		return http.StatusBadRequest,
			object{"error": code, "error_description": reason,
				"redirect": s.redirectURL(q, url.Values{"error": {code}, "error_description": {reason}})}, nil
	case q.Decision == "deny":
		return http.StatusOK, object{"redirect": s.redirectURL(q, url.Values{"error": {"access_denied"}})}, nil
	case q.Decision == "allow":
		code, err := s.giveConsent(x, q, c, offered)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, object{"redirect": s.redirectURL(q, url.Values{"code": {code}})}, nil
	case q.Decision != "":
		return 0, nil, oauthError("invalid_request", "decision: want allow or deny")
	}
	to, err := url.Parse(q.Redirect)
	if err != nil {
		return 0, nil, err // unreachable: redirectsTo has parsed it
	}
	return http.StatusOK,
		consentPage{Client: c.displayName(), Host: c.host, Redirect: to.Host, Database: x.c.Database, Label: x.c.Label,
			Scopes: offered, Spaces: x.c.Spaces}, nil
}

// offeredScopes returns the scopes that a person may give a client, or the error to send to the client.
func (s *Server) offeredScopes(c api.Caller, q consentRequest) (scopes []string, code, why string) {
	switch {
	case q.Type != "code":
		return nil, "unsupported_response_type", "response_type: want code"
	case q.Method != "S256" || len(q.Challenge) != len(digest("")):
		return nil, "invalid_request", "code_challenge: want one of PKCE with code_challenge_method S256"
	case !s.isResource(q.Resource):
		return nil, "invalid_target", "resource: want " + s.resource
	}
	requested := strings.Fields(q.Scope)
	for _, sc := range requested {
		if !slices.Contains(Scopes, sc) {
			return nil, "invalid_scope", "scope: want read, write or both"
		}
	}
	for _, sc := range Scopes {
		if (len(requested) == 0 || slices.Contains(requested, sc)) && c.May(api.Scope(sc)) {
			scopes = append(scopes, sc)
		}
	}
	if len(scopes) == 0 {
		return nil, "invalid_scope", "scope: the token that you signed in with has none of these scopes"
	}
	return scopes, "", ""
}

// isResource reports whether a resource that a client names is this one. An empty resource means the only one.
func (s *Server) isResource(resource string) bool { return resource == "" || resource == s.resource }

// redirectURL returns the URL that brings an answer to the client, with its state and the issuer.
func (s *Server) redirectURL(q consentRequest, answer url.Values) string {
	answer.Set("iss", s.cfg.Issuer)
	if q.State != "" {
		answer.Set("state", q.State)
	}
	sign := "?"
	if strings.Contains(q.Redirect, "?") {
		sign = "&"
	}
	return q.Redirect + sign + answer.Encode()
}

// giveConsent stores the consent and returns the code for it.
func (s *Server) giveConsent(x *exchange, q consentRequest, c client, offered []string) (code string, err error) {
	for _, sc := range q.Scopes {
		if !slices.Contains(offered, sc) {
			return "", oauthError("invalid_scope", "scopes: %q was not requested, or the token that you signed in with lacks it", sc)
		}
	}
	until := s.cfg.Access.Now().Add(s.cfg.CodeLife)
	label := "oauth " + c.displayName()
	if c.host != "" {
		label = fmt.Sprintf("%s (%s)", label, c.host)
	}
	given, err := api.GiveConsent.Do(x.r.Context(), s.cfg.Door, x.c,
		&api.ConsentRequest{Label: label, Scopes: q.Scopes, Spaces: q.Spaces, Expires: until})
	if err != nil {
		return "", err
	}
	return s.sealer.seal(codePrefix,
		ticket{Consent: given.Hash, Client: digest(q.ClientID), Redirect: q.Redirect,
			Challenge: q.Challenge, Until: oplog.At(until)}), nil
}
