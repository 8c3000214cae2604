package node

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// logins holds those who show wrong tokens to a pace, by the address they come from.
//
// An address has so many wrong tokens at once and one a second after that; beyond it a wrong token is told to wait instead of being
// told that it is wrong. A right client token is let in all the same, so no neighbour behind the same address locks its holder out: it
// is 256 bits of chance, and guessing one is hopeless at any pace. The cluster secret is chosen by people. While an address is over its
// pace the secret is not compared, which is a second at most between two tries, unless it was shown from there in the last hour.
type logins struct {
	limit  oplog.Limit
	failed *rates
	wrong  atomic.Int64

	mu      sync.Mutex
	masters map[string]time.Time // addresses that have shown the cluster secret, and when
}

// The cluster secret is compared for so long at an address that has shown it; so many such addresses are known.
const (
	masterKnown = time.Hour
	maxMasters  = 1024
)

func newLogins(burst int) *logins {
	return &logins{limit: oplog.Limit{PerSecond: 1, Burst: uint32(max(1, burst))}, failed: newRates(), masters: map[string]time.Time{}}
}

// Login is Authenticate for a client that comes over the network, from an address with a port.
func (s *Service) Login(from, token string) (api.Caller, error) {
	source, _ := sourceOf(from)
	now, l := time.Now(), s.logins
	c, err := s.authenticate(token, l.failed.wait(source, l.limit, now) == 0 || l.knowsMaster(source, now))
	switch {
	case err == nil && c.By == api.ByMaster:
		l.sawMaster(source, now)
	case errors.Is(err, errToken):
		l.wrong.Add(1)
		if wait := l.failed.take(source, l.limit, 1, now); wait > 0 {
			return api.Caller{}, &limited{wait, "too many failed logins from this address"}
		}
	}
	return c, err
}

func (l *logins) knowsMaster(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.masters[source]
	return ok && now.Sub(at) < masterKnown
}

func (l *logins) sawMaster(source string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.masters[source]; !known && len(l.masters) >= maxMasters {
		for other := range l.masters { // any one: those who hold the secret are few
			delete(l.masters, other)
			break
		}
	}
	l.masters[source] = now
}
