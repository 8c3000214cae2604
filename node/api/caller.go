package api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

// A Caller is the authenticated origin of a request: its database, its rights and how it may be answered.
//
// Trust boundary: only node/access makes callers, from a token or for a surface whose clients are this host's own user.
// The code behind the door does not authenticate again.
type Caller struct {
	DB       oplog.DB
	Database string
	Token    string       // hash; empty for the master token and local callers
	Label    string       // the token's
	By       string       // the origin of a caller without a token: see the By constants
	Scopes   []Scope      // what is allowed
	Until    oplog.Time   // when its credential expires, if before its token does; 0 otherwise
	Spaces   oplog.Spaces // the namespaces that the caller is bound to; empty: all
	Policy   oplog.Policy // how far its texts are trusted
	Forward  bool         // writes follow the leader by themselves
	Quiet    bool         // its recalls do not reinforce memories
	Asked    bool         // another member forwards the request, so this node does not ask further members
	Surface  string       // http, wire, mcp or the name of a dialect, for the slow log

	Patience time.Duration // bounds how long its reads wait for their min_index; 0 for the log's own bound

	Hold *large.Hold // the bytes that the request reserves of the budget until it is answered; nil before the door

	Usual   int // operations a second if token and database set no limit; 0 for no limit
	Counted int // operations of the request that already count against its limits
}

// The origins of callers without a token.
const (
	ByMaster = "master" // the cluster secret
	ByLocal  = "local"  // this host's user, over a socket of this host
	ByNode   = "node"   // a node, of its own accord
)

// HashPrefix is the number of digits of a token's hash that identify it.
const HashPrefix = 12

// Reach returns the namespaces that a request may see: the one that it names, or all that its caller is bound to. Scans
// test each row with it, so that no answer needs to be filtered afterwards.
func (c Caller) Reach(namespace string) oplog.Reach {
	return oplog.Reach{Name: strings.TrimSpace(namespace), Within: c.Spaces}
}

// Who returns the caller's name in the audit.
func (c Caller) Who() string {
	if c.Token == "" {
		return c.By
	}
	return c.Token[:HashPrefix]
}

// Principal returns the account that the caller's load counts towards: its database's, or that of its origin if it has
// no token.
func (c Caller) Principal() string {
	if c.Token == "" {
		return c.By
	}
	return "database " + strconv.FormatUint(uint64(c.DB), 10)
}

// Class returns the class of trust of the caller's texts, unless a request names a lower one. Operators write over HTTP
// and the wire protocol; every other protocol is spoken by models.
func (c Caller) Class() string {
	if slices.Contains([]string{"", "http", "wire"}, c.Surface) {
		return oplog.TrustOf(c.Policy.Trust)
	}
	return oplog.LowestTrust(c.Policy.Trust, oplog.TrustAgent)
}

// Stamp returns the origin that is stored with the caller's texts.
func (c Caller) Stamp() oplog.Stamp {
	return oplog.Stamp{Writer: cmp.Or(c.Label, c.Who()), Dialect: c.Surface, Trust: c.Class()}
}

// Held reports whether everything that the caller writes waits in quarantine.
func (c Caller) Held() bool { return oplog.Quarantines(c.Policy.Quarantine, c.Class()) }

// May reports whether the caller has a scope.
func (c Caller) May(s Scope) bool {
	return slices.Contains(c.Scopes, s) || s == Owner && slices.Contains(c.Scopes, Admin)
}
