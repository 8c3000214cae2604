// Package access says who is calling and how much they may: the text of a token becomes a caller, a caller's operations
// are counted against the limits of its token and its database, and the log is told when tokens were used last and who
// asked for what changes the cluster.
//
// It reads the state and writes nothing but through the log; it knows no protocol and does not know who leads. Surfaces
// ask it for callers (Login, Local, Select) and count connections with it, the door counts operations with it, and the
// commit path has it take up limits that changed and write the audit. Every method may be called from any goroutine.
// Local and those that take a context may wait for the network, for a bounded time (catchUp).
package access

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Config says what a Control goes by. State is required.
type Config struct {
	State        *state.State
	Secrets      []string     // the cluster's: each is an admin token; none where the cluster secret is no client token
	Whole        func() bool  // reports whether the state has all that this node had before its start; nil: it has
	Refusal      func() error // says why the disk takes no writes; nil: it does not say
	FailedLogins int          // 1: how many wrong tokens an address may show at once; one a second after that
	// Latest returns when the state holds all that the cluster had acknowledged before; nil: it always does
	Latest func(context.Context) error
	Now    func() time.Time // the time as the members know it; nil: this node's clock
}

// Control is the access control of one node.
type Control struct {
	state   *state.State
	whole   func() bool
	refusal func() error
	secrets [][sha256.Size]byte // hashes of the cluster's secrets
	limits  atomic.Pointer[state.Limits]
	rates   *rates
	logins  *logins
	usage   usage
	latest  catchUp
	now     func() time.Time

	mu    sync.Mutex
	ended chan struct{} // closed when tokens may have ended, and replaced then
	open  map[*lasting]struct{}
}

// New makes the access control of a node from its state.
func New(c Config) *Control {
	a := &Control{state: c.State, whole: c.Whole, refusal: c.Refusal, rates: newRates(), logins: newLogins(c.FailedLogins),
		now: c.Now, usage: usage{seen: map[string]oplog.Time{}}, latest: catchUp{ask: c.Latest, turn: make(chan struct{}, 1)},
		ended: make(chan struct{}), open: map[*lasting]struct{}{}}
	if a.now == nil {
		a.now = time.Now
	}
	for _, s := range c.Secrets {
		if s != "" { // which would let in a client that shows nothing
			a.secrets = append(a.secrets, sha256.Sum256([]byte(s)))
		}
	}
	a.reload()
	return a
}

// Now is the time by which tokens expire, on every node alike: one whose own clock is off must not decide by it.
func (a *Control) Now() time.Time { return a.now() }

// All are the scopes of the cluster secret and of the node itself.
var All = []api.Scope{api.Read, api.Write, api.Admin}

// Local are the scopes of a dialect in its database. What more it needs it names itself: see api.At.
var Local = []api.Scope{api.Read, api.Write, api.Owner}

// Node returns the caller for a node's own operations, outside any database.
func Node() api.Caller {
	return api.Caller{By: api.ByNode, Scopes: All, Forward: true, Policy: operators}
}

// operators is the policy of the cluster secret and of nodes.
var operators = oplog.Policy{Trust: oplog.TrustOperator}
