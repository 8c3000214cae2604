package api

import (
	"time"

	"github.com/cairndb/cairn/oplog"
)

// Consents. An OAuth client acts with some of the rights of a token whose holder agreed. No surface offers these rows
// as they are: node/oauth asks them, GiveConsent for the holder and the other two for the client.
var (
	GiveConsent = row[ConsentRequest, ConsentGiven](Op{Name: "consent", Bound: Free,
		Does: "Let an OAuth client act with some of the rights of the caller's token.", Scope: Read, Writes: true})

	RenewConsent = row[RenewConsentRequest, Nothing](Op{Name: "consent_renew", Bound: Free,
		Does: "Redeem the code or the refresh token that the caller's consent issued last.", Writes: true})

	EndConsent = row[Nothing, Nothing](Op{Name: "consent_end", Bound: Free, Does: "End the caller's consent.", Writes: true})
)

// A ConsentRequest names what a client may do in the caller's database.
type ConsentRequest struct {
	Label   string    // of the token that the consent makes
	Scopes  []string  // read, write or both, and no more than the caller has
	Spaces  []string  // prefixes of namespaces within the caller's; none: the caller's own
	Expires time.Time // when it ends unless it is renewed
}

// ConsentGiven identifies a consent.
type ConsentGiven struct {
	Hash  string      // of the token that it made
	Index oplog.Index // where in the log it is
}

// A RenewConsentRequest asks to go on until a time.
type RenewConsentRequest struct {
	Turn    uint64 // how often the consent was renewed, as the code or the refresh token has it
	Expires time.Time
}
