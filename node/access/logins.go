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

// logins bounds how often an address may send wrong tokens.
//
// An address may send a burst of wrong tokens, and then one a second. Beyond that rate the client is told to wait
// instead of being told that the token is wrong. A valid client token is always accepted, so no neighbour behind the
// same address can lock its holder out; guessing its 256 random bits is hopeless at any rate. The cluster secret may
// be chosen by people. While an address is over its rate, the secret is not even compared, unless the address sent it
// within the last hour.
type logins struct {
	limit    oplog.Limit
	failed   *rates
	failures atomic.Int64

	mu            sync.Mutex
	secretSources map[string]time.Time // when each address last sent the cluster secret
}

// How long an address that sent the cluster secret is exempt from the rate, and how many such addresses are
// remembered.
const (
	secretExemption  = time.Hour
	maxSecretSources = 1024
)

func newLogins(burst int) *logins {
	return &logins{limit: oplog.Limit{PerSecond: 1, Burst: uint32(max(1, burst))}, failed: newRates(), secretSources: map[string]time.Time{}}
}

// Login is like Authenticate, for a client at a network address with a port. Wrong tokens are counted by address;
// beyond the rate they are rejected with a Limited error. Below it, an unknown token is looked for again
// (findCaller).
func (a *Control) Login(ctx context.Context, from, token string) (api.Caller, error) {
	source, _ := sourceOf(from)
	now, l := time.Now(), a.logins
	if (l.failed.wait(source, l.limit, 1, now) == 0 || l.showedSecret(source, now)) && a.isSecret(token) {
		l.remember(source, now)
		return master, nil
	}
	return a.LoginHash(ctx, from, HashToken(token))
}

// LoginHash is like Login, for a client that sent a substitute for a token, such as an access token: it lets in the
// holder of the token with this hash. An empty hash means that the surface could not read the substitute.
func (a *Control) LoginHash(ctx context.Context, from, hash string) (c api.Caller, err error) {
	source, _ := sourceOf(from)
	if hash == "" || a.logins.failed.wait(source, a.logins.limit, 1, time.Now()) > 0 { // without asking the leader
		c, _, err = a.callerOf(hash)
	} else {
		c, err = a.findCaller(ctx, hash)
	}
	if err == nil {
		a.Used(hash)
	}
	return c, a.countFailure(source, err)
}

// Attempt counts a request without a token like a wrong token, and rejects it with a Limited error if the address has
// made too many.
func (a *Control) Attempt(from string) error {
	source, _ := sourceOf(from)
	if wait := a.logins.failed.take(source, a.logins.limit, 1, time.Now()); wait > 0 {
		return &Limited{wait, "too many attempts from this address"}
	}
	return nil
}

// countFailure counts a wrong token of an address, and returns the error for the client.
func (a *Control) countFailure(source string, err error) error {
	l, unsure := a.logins, isTransient(err)
	if !unsure && !errors.Is(err, ErrToken) {
		return err
	}
	l.failures.Add(1)
	if wait := l.failed.take(source, l.limit, 1, time.Now()); wait > 0 && !unsure {
		return &Limited{wait, "too many failed logins from this address"}
	}
	return err
}

// FailedLogins returns the number of wrong tokens since the start.
func (a *Control) FailedLogins() int64 { return a.logins.failures.Load() }

// showedSecret reports whether an address has recently sent the cluster secret.
func (l *logins) showedSecret(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.secretSources[source]
	return ok && now.Sub(at) < secretExemption
}

func (l *logins) remember(source string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.secretSources[source]; !known && len(l.secretSources) >= maxSecretSources {
		for other := range l.secretSources { // drop any one: few addresses have the secret
			delete(l.secretSources, other)
			break
		}
	}
	l.secretSources[source] = now
}
