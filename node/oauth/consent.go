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

// An ask is the request of the consent page: the parameters of the client, and the decision of the person.
type ask struct {
	ClientID  string `json:"client_id"`
	Redirect  string `json:"redirect_uri"`
	Type      string `json:"response_type"`
	Challenge string `json:"code_challenge"`
	Method    string `json:"code_challenge_method"`
	Resource  string `json:"resource"`
	Scope     string `json:"scope"`
	State     string `json:"state"`

	Decision string   `json:"decision"` // allow or deny; blank: show what is asked
	Scopes   []string `json:"scopes"`   // allowed of those that are offered
	Spaces   []string `json:"namespaces"`
}

// A question is the content of the page.
type question struct {
	Client   string       `json:"client_name"`
	Host     string       `json:"client_host,omitempty"` // of the client's document; absent for one that registered itself
	Redirect string       `json:"redirect_host"`         // where the code goes
	Database string       `json:"database"`
	Label    string       `json:"label"` // of the token that the person signed in with
	Scopes   []string     `json:"scopes"`
	Spaces   oplog.Spaces `json:"namespaces"`
}

// maxState bounds what a client wants back as it sent it.
const maxState = 4 << 10

// consent answers the page. What is wrong with the client or its redirect URI is told to the person alone; everything
// else to the client as well, when the person goes back to it: the page never leads anybody on by itself.
func (s *Server) consent(x *exchange) (int, any, error) {
	var q ask
	if err := x.decode(&q); err != nil {
		return 0, nil, err
	}
	c, err := s.clientOf(x.r.Context(), x.r.RemoteAddr, q.ClientID)
	if err != nil {
		return 0, nil, err
	}
	if !c.redirectsTo(q.Redirect) {
		return 0, nil, refusal("invalid_request", "redirect_uri %.200q is not one of the client's", q.Redirect)
	}
	if len(q.State) > maxState {
		return 0, nil, refusal("invalid_request", "state is over %d bytes", maxState)
	}
	offered, code, why := s.offered(x.c, q)
	switch {
	case code != "":
		return http.StatusBadRequest,
			object{"error": code, "error_description": why,
				"redirect": s.back(q, url.Values{"error": {code}, "error_description": {why}})}, nil
	case q.Decision == "deny":
		return http.StatusOK, object{"redirect": s.back(q, url.Values{"error": {"access_denied"}})}, nil
	case q.Decision == "allow":
		code, err := s.give(x, q, c, offered)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusOK, object{"redirect": s.back(q, url.Values{"code": {code}})}, nil
	case q.Decision != "":
		return 0, nil, refusal("invalid_request", "decision: want allow or deny")
	}
	to, err := url.Parse(q.Redirect)
	if err != nil {
		return 0, nil, err // redirectsTo has parsed it
	}
	return http.StatusOK,
		question{Client: c.describe(), Host: c.host, Redirect: to.Host, Database: x.c.Database, Label: x.c.Label,
			Scopes: offered, Spaces: x.c.Spaces}, nil
}

// offered are the scopes that a person may give a client, or the error to send the client.
func (s *Server) offered(c api.Caller, q ask) (scopes []string, code, why string) {
	switch {
	case q.Type != "code":
		return nil, "unsupported_response_type", "response_type: want code"
	case q.Method != "S256" || len(q.Challenge) != len(digest("")):
		return nil, "invalid_request", "code_challenge: want one of PKCE with code_challenge_method S256"
	case !s.is(q.Resource):
		return nil, "invalid_target", "resource: want " + s.resource
	}
	asked := strings.Fields(q.Scope)
	for _, sc := range asked {
		if !slices.Contains(Scopes, sc) {
			return nil, "invalid_scope", "scope: want read, write or both"
		}
	}
	for _, sc := range Scopes {
		if (len(asked) == 0 || slices.Contains(asked, sc)) && c.May(api.Scope(sc)) {
			scopes = append(scopes, sc)
		}
	}
	if len(scopes) == 0 {
		return nil, "invalid_scope", "scope: the token that you signed in with has none of these scopes"
	}
	return scopes, "", ""
}

// is reports whether a resource that a client names is this one. One that names none means the only one there is.
func (s *Server) is(resource string) bool { return resource == "" || resource == s.resource }

// back is the URL at which a client gets an answer, with its state and the issuer.
func (s *Server) back(q ask, answer url.Values) string {
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

// give makes the consent, and the code for it.
func (s *Server) give(x *exchange, q ask, c client, offered []string) (code string, err error) {
	for _, sc := range q.Scopes {
		if !slices.Contains(offered, sc) {
			return "", refusal("invalid_scope", "scopes: %q was not requested, or the token that you signed in with lacks it", sc)
		}
	}
	until := s.cfg.Access.Now().Add(s.cfg.CodeLife)
	label := "oauth " + c.describe()
	if c.host != "" {
		label = fmt.Sprintf("%s (%s)", label, c.host)
	}
	given, err := api.GiveConsent.Do(x.r.Context(), s.cfg.Door, x.c,
		&api.ConsentRequest{Label: label, Scopes: q.Scopes, Spaces: q.Spaces, Expires: until})
	if err != nil {
		return "", err
	}
	return s.sealer.seal(codePrefix,
		ticket{Consent: given.Hash, Index: given.Index, Client: digest(q.ClientID), Redirect: q.Redirect,
			Challenge: q.Challenge, Until: oplog.At(until)}), nil
}
