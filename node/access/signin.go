package access

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// signInTime is the lifetime of a sign-in code.
const signInTime = time.Minute

// ErrSignIn rejects a sign-in code that is unknown, was used or has expired.
var ErrSignIn = &oplog.Error{Kind: oplog.Denied,
	Text: "this sign-in link has been used or is over a minute old: sign in with the token, or start the node again for another link"}

// A SignIn exchanges a code for a token, once. A link with the code may be printed, because the code is worthless a
// minute later and no link contains the token. The zero SignIn accepts no code.
type SignIn struct {
	mu          sync.Mutex
	hash, token string // of the latest code; empty if none
	until       time.Time
}

// Offer returns a code that Take accepts once, within a minute. It replaces the previous code.
func (s *SignIn) Offer(token string, now time.Time) (code string) {
	raw := make([]byte, 16)
	rand.Read(raw) // crypto/rand never fails
	code = hex.EncodeToString(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hash, s.token, s.until = HashToken(code), token, now.Add(signInTime)
	return code
}

// Take returns the token of a code and forgets both. A wrong code does not invalidate the right one, so another
// program of this host cannot use up the link; 128 bits cannot be guessed in a minute.
func (s *SignIn) Take(code string, now time.Time) (token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !now.Before(s.until) || subtle.ConstantTimeCompare([]byte(s.hash), []byte(HashToken(code))) != 1 {
		return "", ErrSignIn
	}
	token, s.hash, s.token = s.token, "", ""
	return token, nil
}
