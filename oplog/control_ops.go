package oplog

import "regexp"

// Init is the first entry of a cluster: it names it and makes the database "default". A second one changes nothing.
type Init struct {
	Cluster string `msgpack:"id"`
	At      Time   `msgpack:"at"`
}

// CreateDB makes a database; its number is assigned here.
type CreateDB struct {
	Name string `msgpack:"n" subject:""`
	At   Time   `msgpack:"at"`
	By   DB     `msgpack:"b,omitempty"` // the database whose token asked for it; 0 for an administrator
	Most uint32 `msgpack:"m,omitempty"` // databases that By's tokens may have made, this one included; 0: no bound
}

// DropDB removes a database: it is gone from every list and answer at once, and its name is free. Erase removes what
// it held.
type DropDB struct {
	Name string `msgpack:"n" subject:""`
	At   Time   `msgpack:"at"`
}

// Erase removes some thousand rows of databases that were dropped. The leader repeats it until none is left, so that
// no drop delays a write for long.
type Erase struct {
	At Time `msgpack:"at"`
}

// CreateToken lets the holder of a token into a database. Only the SHA-256 of the token is known here.
type CreateToken struct {
	Hash    string   `msgpack:"h"` // lower-case hex SHA-256 of the whole token text
	DB      DB       `msgpack:"d"`
	Label   string   `msgpack:"l,omitempty"`
	Scopes  []string `msgpack:"s,omitempty"` // empty means read and write
	Expires Time     `msgpack:"x,omitempty"` // 0: never
	At      Time     `msgpack:"at"`
	Policy
}

// CreateBound makes a token that is bound to namespaces. It is a kind of its own: a member that passed over the bound
// would let the token into the whole database.
type CreateBound struct {
	Token  CreateToken `msgpack:"t"`
	Spaces Spaces      `msgpack:"ns"` // one at least
}

// Consent lets an OAuth client act with some of the rights of a token, whose holder agreed. It makes a token row that
// ends with that token. Its Hash is a random id and the hash of no text: node/oauth issues what clients show.
type Consent struct {
	Token  CreateToken `msgpack:"t"` // it expires when its code does, until the first Renew
	Spaces Spaces      `msgpack:"ns,omitempty"`
	By     string      `msgpack:"b"` // the hash of the token whose holder agreed
	Most   uint32      `msgpack:"m"` // consents that By may have given, this one included
}

// Renew uses up the code or the refresh token that a consent issued last. Of two with the same Turn the second is
// rejected, so each is good for one exchange, whichever nodes it is shown to.
type Renew struct {
	Hash    string `msgpack:"h"`
	Turn    uint64 `msgpack:"n"` // how often the consent was renewed before: 0 for its code
	Expires Time   `msgpack:"x"` // when the consent ends unless it is renewed again
	At      Time   `msgpack:"at"`
}

// RevokeToken ends a token for good, and the consents that its holder gave.
type RevokeToken struct {
	Hash string `msgpack:"h"`
	At   Time   `msgpack:"at"`
}

// SetQuota bounds a database.
type SetQuota struct {
	DB          DB     `msgpack:"d"`
	MaxMemories uint64 `msgpack:"m"` // 0: no bound
}

// Advertise publishes where a node's clients find it.
type Advertise struct {
	Node    uint32 `msgpack:"n"`
	Wire    string `msgpack:"w"`
	HTTP    string `msgpack:"h"`
	Peer    string `msgpack:"p"`
	Version string `msgpack:"v"`
	Key     string `msgpack:"k,omitempty"` // the public key of the node's home, in hex
}

var databaseName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// DatabaseNameRule says what ValidDatabaseName allows. A name that begins with - would be a flag to commands.
const DatabaseNameRule = "database name must be 1 to 64 of A-Z a-z 0-9 . _ - and not start with . or -"

// ValidDatabaseName reports whether a database may bear the name.
func ValidDatabaseName(name string) bool { return databaseName.MatchString(name) }

// FoldDatabaseName returns a name in lower case, to compare names regardless of case. Names are ASCII, so the result
// does not depend on Go's Unicode tables.
func FoldDatabaseName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}
