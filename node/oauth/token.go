package oauth

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Bounds of a PKCE verifier.
const (
	minVerifier = 43
	maxVerifier = 128
)

// token exchanges a code or a refresh token for new tokens.
func (s *Server) token(x *exchange) (int, any, error) {
	form := url.Values{}
	if err := x.decode(&form); err != nil {
		return 0, nil, oauthError("invalid_request", "%s", err)
	}
	for name, values := range form {
		if len(values) > 1 {
			return 0, nil, oauthError("invalid_request", "%.40q is there more than once", name)
		}
	}
	if !s.isResource(form.Get("resource")) {
		return 0, nil, oauthError("invalid_target", "resource: want %s", s.resource)
	}
	var t ticket
	ok := false
	switch form.Get("grant_type") {
	case "authorization_code":
		ok = s.sealer.open(codePrefix, form.Get("code"), &t) && t.Redirect == form.Get("redirect_uri") &&
			verifierMatches(form.Get("code_verifier"), t.Challenge)
	case "refresh_token":
		ok = s.sealer.open(refreshPrefix, form.Get("refresh_token"), &t)
	default:
		return 0, nil, oauthError("unsupported_grant_type", "grant_type: want authorization_code or refresh_token")
	}
	if !ok || t.Client != digest(form.Get("client_id")) || t.Until.Time().Before(s.cfg.Access.Now()) {
		t = ticket{} // counts as a wrong token of the address
	}
	return s.issue(x, t, form.Get("scope"))
}

// verifierMatches reports whether a verifier belongs to a challenge.
func verifierMatches(verifier, challenge string) bool {
	return len(verifier) >= minVerifier && len(verifier) <= maxVerifier &&
		subtle.ConstantTimeCompare([]byte(digest(verifier)), []byte(challenge)) == 1
}

// issue uses up a code or a refresh token, and answers with the next tokens. A second use ends the consent, because
// then two clients have the token.
func (s *Server) issue(x *exchange, t ticket, scope string) (int, any, error) {
	ctx := x.r.Context()
	c, err := s.cfg.Access.LoginHash(ctx, x.r.RemoteAddr, t.Consent)
	if errors.Is(err, access.ErrToken) {
		return 0, nil, errGrant
	} else if err != nil {
		return 0, nil, err
	}
	c.Forward, c.Surface = true, s.Name()
	for _, sc := range strings.Fields(scope) {
		if !c.May(api.Scope(sc)) {
			return 0, nil, oauthError("invalid_scope", "scope: %.40q was not agreed to", sc)
		}
	}
	now := s.cfg.Access.Now()
	until := now.Add(s.cfg.RefreshLife)
	_, err = api.RenewConsent.Do(ctx, s.cfg.Door, c, &api.RenewConsentRequest{Turn: t.Turn, Expires: until})
	switch {
	case oplog.IsKind(err, oplog.Conflict):
		if _, err := api.EndConsent.Do(ctx, s.cfg.Door, c, &api.Nothing{}); err != nil {
			return 0, nil, err
		}
		return 0, nil, errGrant
	case oplog.IsKind(err, oplog.NotFound):
		return 0, nil, errGrant
	case err != nil:
		return 0, nil, err
	}
	next := ticket{Consent: t.Consent, Turn: t.Turn + 1, Client: t.Client, Until: oplog.At(until)}
	shown := ticket{Consent: t.Consent, Until: oplog.At(now.Add(s.cfg.AccessLife))}
	return http.StatusOK,
		object{"access_token": s.sealer.seal(accessPrefix, shown), "token_type": "Bearer", "expires_in": int(s.cfg.AccessLife.Seconds()),
			"refresh_token": s.sealer.seal(refreshPrefix, next), "scope": scopesOf(c)}, nil
}

// errGrant rejects a code or a refresh token. It does not reveal the reason.
var errGrant = oauthError("invalid_grant",
	"this code or refresh token is wrong, was used before, has expired, or its consent has ended: ask the user again")

func scopesOf(c api.Caller) string {
	return strings.Join(api.Each(c.Scopes, func(sc api.Scope) string { return string(sc) }), " ")
}
