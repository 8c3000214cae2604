package api

import (
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// A Caller is who asks, for which database, with which rights. Only the node makes one: of a token, or for a surface whose clients
// are this host's own user.
type Caller struct {
	DB       oplog.DB
	Database string
	Token    string  // hash; empty for the master token and local callers
	Label    string  // the token's
	By       string  // who it is that has no token: see the By constants
	Scopes   []Scope // what is allowed
	Forward  bool    // writes follow the leader by themselves
	Quiet    bool    // what it recalls is not reinforced
	Bearer   string  // the Authorization that it came with, to ask other nodes in its name; blank for none
	Surface  string  // by which it asks, for the slow log: http, wire, mcp, local

	Usual   int // operations a second where nothing else is agreed on; 0 for no bound
	Counted int // operations of the request that its limits have counted already
}

// Who asks without a token.
const (
	ByMaster = "master" // the cluster secret
	ByLocal  = "local"  // this host's user, over a socket of this host
	ByNode   = "node"   // a node, of its own accord
)

// HashPrefix is how much of a token's hash names it.
const HashPrefix = 12

// Who is the caller as the audit names it.
func (c Caller) Who() string {
	if c.Token == "" {
		return c.By
	}
	return c.Token[:HashPrefix]
}

// May says whether the caller has a right.
func (c Caller) May(s Scope) bool {
	return slices.Contains(c.Scopes, s) || s == Owner && slices.Contains(c.Scopes, Admin)
}
