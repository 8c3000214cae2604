package operate

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// maxConsents bounds the consents of a token that are valid or of the last day, and so the rows that its holder can
// create.
const maxConsents = 100

// GiveConsent creates the token of an OAuth client. No client can send the token itself, because its hash is random.
func (ad *Admin) GiveConsent(ctx context.Context, c api.Caller, q *api.ConsentRequest) (*api.ConsentGiven, error) {
	if c.Token == "" {
		return nil, oplog.Errorf(oplog.Denied, "the cluster secret gives no consent: sign in with a token")
	}
	if len(q.Scopes) == 0 {
		return nil, oplog.Errorf(oplog.Invalid, "scopes: want read, write or both")
	}
	for _, sc := range q.Scopes {
		if !slices.Contains([]api.Scope{api.Read, api.Write}, api.Scope(sc)) {
			return nil, oplog.Errorf(oplog.Invalid, "scope %q: want read or write", sc)
		}
		if !c.May(api.Scope(sc)) {
			return nil, api.NoScope(api.Scope(sc))
		}
	}
	spaces, err := parseSpaces(q.Spaces, q.Scopes)
	if err != nil {
		return nil, err
	}
	for _, p := range spaces {
		if !c.Spaces.Has(p) {
			return nil, api.OutOfBound(c, "namespaces: %s is not among them", p)
		}
	}
	if !spaces.Bind() {
		spaces = c.Spaces
	}
	id := make([]byte, 32)
	rand.Read(id) // crypto/rand never fails
	op := &oplog.Consent{Token: oplog.CreateToken{Hash: hex.EncodeToString(id), DB: c.DB, Label: q.Label, Scopes: q.Scopes,
		Expires: oplog.At(q.Expires), At: oplog.At(ad.cfg.Access.Now()),
		Policy: oplog.Policy{Trust: oplog.LowestTrust(c.Policy.Trust, oplog.TrustAgent), Quarantine: c.Policy.Quarantine}},
		Spaces: spaces, By: c.Token, Most: maxConsents}
	_, _, err = ad.propose(ctx, c, op)
	return &api.ConsentGiven{Hash: op.Token.Hash}, err
}

// RenewConsent uses up the code or refresh token that the caller's consent issued last. A second use is a conflict.
func (ad *Admin) RenewConsent(ctx context.Context, c api.Caller, q *api.RenewConsentRequest) (*api.Nothing, error) {
	_, _, err := ad.propose(ctx, c, &oplog.Renew{Hash: c.Token, Turn: q.Turn, Expires: oplog.At(q.Expires), At: oplog.At(ad.cfg.Access.Now())})
	return &api.Nothing{}, err
}

// EndConsent ends the caller's consent and everything issued under it.
func (ad *Admin) EndConsent(ctx context.Context, c api.Caller, _ *api.Nothing) (*api.Nothing, error) {
	_, _, err := ad.propose(ctx, c, &oplog.RevokeToken{Hash: c.Token, At: oplog.At(ad.cfg.Access.Now())})
	return &api.Nothing{}, err
}
