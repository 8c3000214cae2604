package access

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// logins bounds how often an address may show wrong tokens.
//
// An address has so many wrong tokens at once and one a second after that; beyond it a wrong token is told to wait
// instead of being told that it is wrong. A right client token is let in all the same, so no neighbour behind the same
// address locks its holder out: it is 256 bits of chance, and guessing one is hopeless at any rate. The cluster secret
// is chosen by people. While an address is over its rate the secret is not compared, which is a second at most between
// two tries, unless it was shown from there in the last hour.
type logins struct {
	limit  oplog.Limit
	failed *rates
	wrong  atomic.Int64

	mu    sync.Mutex
	known map[string]time.Time // addresses that have shown the cluster secret, and when
}

// The cluster secret is compared for so long at an address that has shown it; so many such addresses are known.
const (
	secretKnown = time.Hour
	maxKnown    = 1024
)

func newLogins(burst int) *logins {
	return &logins{limit: oplog.Limit{PerSecond: 1, Burst: uint32(max(1, burst))}, failed: newRates(), known: map[string]time.Time{}}
}

// Login is Authenticate for a client that comes over the network, from an address with a port. Wrong tokens are
// counted by address; one that has shown too many is rejected with the time to wait (Limited). A token that is not
// known is looked for again (seek), unless its address has shown too many.
func (a *Control) Login(ctx context.Context, from, token string) (api.Caller, error) {
	source, _ := sourceOf(from)
	now, l := time.Now(), a.logins
	if (l.failed.wait(source, l.limit, 1, now) == 0 || l.knows(source, now)) && a.isSecret(token) {
		l.remember(source, now)
		return master, nil
	}
	return a.LoginHash(ctx, from, HashToken(token))
}

// LoginHash is Login for a client that has shown a surface something that stands for a token: it lets in the holder of
// the token with this hash. A blank hash is of no token, for what the surface could not read.
func (a *Control) LoginHash(ctx context.Context, from, hash string) (c api.Caller, err error) {
	source, _ := sourceOf(from)
	if hash == "" || a.logins.failed.wait(source, a.logins.limit, 1, time.Now()) > 0 { // no question to the leader for it
		c, _, err = a.holder(hash)
	} else {
		c, err = a.seek(ctx, hash)
	}
	if err == nil {
		a.Used(hash)
	}
	return c, a.counted(source, err)
}

// Attempt counts a request without a token as Login counts a wrong one, and rejects it with the time to wait when the
// address has made too many.
func (a *Control) Attempt(from string) error {
	source, _ := sourceOf(from)
	if wait := a.logins.failed.take(source, a.logins.limit, 1, time.Now()); wait > 0 {
		return &Limited{wait, "too many attempts from this address"}
	}
	return nil
}

// counted counts a wrong token at its address.
func (a *Control) counted(source string, err error) error {
	l, unsure := a.logins, unsure(err)
	if !unsure && !errors.Is(err, ErrToken) {
		return err
	}
	l.wrong.Add(1)
	if wait := l.failed.take(source, l.limit, 1, time.Now()); wait > 0 && !unsure {
		return &Limited{wait, "too many failed logins from this address"}
	}
	return err
}

// FailedLogins returns the number of wrong tokens since the start.
func (a *Control) FailedLogins() int64 { return a.logins.wrong.Load() }

// knows reports whether an address has shown the cluster secret lately.
func (l *logins) knows(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.known[source]
	return ok && now.Sub(at) < secretKnown
}

func (l *logins) remember(source string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.known[source]; !known && len(l.known) >= maxKnown {
		for other := range l.known { // any one: addresses that have the secret are few
			delete(l.known, other)
			break
		}
	}
	l.known[source] = now
}
