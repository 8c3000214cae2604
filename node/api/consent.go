package api

import "time"

// Consents let an OAuth client act with some of the rights of a token whose holder agreed. No surface offers these rows
// itself: node/oauth calls GiveConsent for the holder, and the other two for the client.
var (
	GiveConsent = row[ConsentRequest, ConsentGiven](Op{Name: "consent", Bound: Free,
		Does: "Let an OAuth client act with some of the rights of the caller's token.", Scope: Read, Writes: true})

	RenewConsent = row[RenewConsentRequest, Nothing](Op{Name: "consent_renew", Bound: Free,
		Does: "Redeem the code or the refresh token that the caller's consent issued last.", Writes: true})

	EndConsent = row[Nothing, Nothing](Op{Name: "consent_end", Bound: Free, Does: "End the caller's consent.", Writes: true})
)

// A ConsentRequest names what a client may do in the caller's database.
type ConsentRequest struct {
	Label   string    // of the consent's token
	Scopes  []string  // read, write or both, and no more than the caller has
	Spaces  []string  // prefixes of namespaces within the caller's; empty: the caller's own
	Expires time.Time // when the consent ends unless it is renewed
}

// ConsentGiven identifies a consent.
type ConsentGiven struct {
	Hash string // of the consent's token
}

// A RenewConsentRequest extends a consent.
type RenewConsentRequest struct {
	Turn    uint64 // how often the consent was renewed, according to the code or the refresh token
	Expires time.Time
}
