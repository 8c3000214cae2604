package access

import (
	"errors"
	"testing"
	"time"
)

// TestSignIn checks that a code is valid once and for a minute, that a wrong one does no harm, and that a newer one
// replaces it.
func TestSignIn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	refused := func(s *SignIn, code string, at time.Time) {
		t.Helper()
		if token, err := s.Take(code, at); token != "" || !errors.Is(err, ErrSignIn) {
			t.Errorf("%q %v, want a refusal", token, err)
		}
	}
	var s SignIn
	refused(&s, "", now)
	code := s.Offer("secret", now)
	refused(&s, "", now)
	refused(&s, code+"0", now)
	if token, err := s.Take(code, now.Add(signInTime-1)); token != "secret" || err != nil {
		t.Errorf("the first time: %q %v", token, err)
	}
	refused(&s, code, now)
	refused(&s, s.Offer("secret", now), now.Add(signInTime))
	old := s.Offer("secret", now)
	s.Offer("secret", now)
	refused(&s, old, now)
}
