// Package access authenticates callers and limits them: it turns the text of a token into a caller, counts the
// caller's operations against the limits of its token and its database, and records in the log when tokens were last
// used and who requested changes of the cluster.
//
// It reads the state and writes only through the log. It knows no protocol and no leader. Surfaces request callers
// from it (Login, Local, Select) and count connections with it; the door counts operations; the commit path reloads
// changed limits (Follow) and adds audit rows (Audited). Every method may be called from any goroutine. Local and the
// methods with a context may wait for the network, for a bounded time (catchUp).
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

// Config configures a Control. State is required.
type Config struct {
	State        *state.State
	Secrets      []string     // cluster secrets that are admin tokens; empty if the cluster secret is no client token
	Complete     func() bool  // reports whether the state has everything that it had before the start; nil: always
	DiskError    func() error // returns why the disk accepts no writes, or nil; may be nil
	FailedLogins int          // default 1: wrong tokens of an address at once; then one a second
	// Latest returns once the state has everything that the cluster acknowledged before the call; nil: it always does
	Latest func(context.Context) error
	Now    func() time.Time // returns the cluster's time; nil: this node's clock
}

// Control is the access control of one node.
type Control struct {
	state     *state.State
	complete  func() bool
	diskError func() error
	secrets   [][sha256.Size]byte // hashes of Config.Secrets
	limits    atomic.Pointer[state.Limits]
	rates     *rates
	logins    *logins
	usage     usage
	latest    catchUp
	now       func() time.Time

	mu    sync.Mutex
	ended chan struct{} // closed and replaced when tokens may have ended
	open  map[*boundRequest]struct{}
}

// New returns the access control of a node.
func New(c Config) *Control {
	a := &Control{state: c.State, complete: c.Complete, diskError: c.DiskError, rates: newRates(), logins: newLogins(c.FailedLogins),
		now: c.Now, usage: usage{seen: map[string]oplog.Time{}}, latest: catchUp{ask: c.Latest, running: make(chan struct{}, 1)},
		ended: make(chan struct{}), open: map[*boundRequest]struct{}{}}
	if a.now == nil {
		a.now = time.Now
	}
	for _, s := range c.Secrets {
		if s != "" { // an empty secret would let in clients without a token
			a.secrets = append(a.secrets, sha256.Sum256([]byte(s)))
		}
	}
	a.reload()
	return a
}

// Now returns the time by which tokens expire. It is the same on all nodes, even if a node's own clock is off.
func (a *Control) Now() time.Time { return a.now() }

// All are the scopes of the cluster secret and of the node itself.
var All = []api.Scope{api.Read, api.Write, api.Admin}

// Local are the scopes of a dialect of this host in its database. See api.At for further rights.
var Local = []api.Scope{api.Read, api.Write, api.Owner}

// Node returns the caller for a node's own operations, outside any database.
func Node() api.Caller {
	return api.Caller{By: api.ByNode, Scopes: All, Forward: true, Policy: operators}
}

// operators is the policy of the cluster secret and of nodes.
var operators = oplog.Policy{Trust: oplog.TrustOperator}
