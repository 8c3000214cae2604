package oplog

// Remember stores one memory. The proposer has already filled in everything that chance, the clock or a model
// decides.
type Remember struct {
	Content  `subject:""`
	Vector   Vector    `msgpack:"ve,omitempty"`
	Entities []Mention `msgpack:"xe,omitempty"`
	Claims   []Claim   `msgpack:"-"` // that the text states: they travel in a Stated next to it
	Marks    []Mark    `msgpack:"-"` // what the text supersedes, or is superseded by: they travel in a Supersede
	Was      *History  `msgpack:"ws,omitempty"`
	Held     bool      `msgpack:"q,omitempty"` // it waits for a Correct that releases it, in no answer and without a key

	// Key is the memory's own idempotency key, where a batch gives each of its memories one. A memory whose key is
	// known is not stored again: its Result names the first one and has not Changed. Another one under the key fails
	// the entry.
	Key    string `msgpack:"ik,omitempty"`
	Digest []byte `msgpack:"ig,omitempty"`
}

// A History records what a memory went through before it was imported. Apply stores it as it is: the memory joins no
// active session and its text is not read again.
type History struct {
	Past
	Revisions []Revision    `msgpack:"rs,omitempty"`
	Claims    []StoredClaim `msgpack:"cl,omitempty"` // those that the memory's text states
}

// A Mention is an entity named in a memory's text.
type Mention struct {
	Name string `msgpack:"n" max:"name"`
	Type string `msgpack:"t,omitempty" max:"name"`
}

// Correct changes a memory in place and stores what it was as a revision. Nil fields do not change.
type Correct struct {
	RID        string   `msgpack:"rid" subject:""`
	Text       *string  `msgpack:"tx,omitempty" max:"text"`
	Importance *float64 `msgpack:"im,omitempty"`
	Pin        *bool    `msgpack:"pi,omitempty"`
	Valence    *float64 `msgpack:"va,omitempty"`
	Certainty  *float64 `msgpack:"ce,omitempty"`
	Metadata   []byte   `msgpack:"md,omitempty" max:"metadata"`
	Attributes []byte   `msgpack:"ab,omitempty" max:"attributes"` // all of them from now on; {} takes them away
	Merge      []byte   `msgpack:"mm,omitempty" max:"metadata"`   // JSON object: its members replace those of the metadata, null removes one
	Vector     Vector   `msgpack:"ve,omitempty"`                  // of the new text
	Reason     string   `msgpack:"re,omitempty" max:"text"`
	At         Time     `msgpack:"at"`
	Expires    *Time    `msgpack:"ex,omitempty"` // 0: never
	Searchable *bool    `msgpack:"us,omitempty"` // true comes with the text, for its words are read again
	Place
	Approval

	Extractor uint8     `msgpack:"xv,omitempty"` // of the new text, as in Remember
	Entities  []Mention `msgpack:"xe,omitempty"`
	Claims    []Claim   `msgpack:"-"`
	Marks     []Mark    `msgpack:"-"`
}

// A Place says where a correction puts a memory.
type Place struct {
	Path      *string `msgpack:"pa,omitempty"`            // its new key
	Namespace *string `msgpack:"ns,omitempty" max:"name"` // moves it there, with its key
}

// Expect rejects its entry when a memory is at another revision, and changes nothing. It comes before the operation
// that it guards.
type Expect struct {
	RID      string `msgpack:"rid" subject:""`
	Revision uint32 `msgpack:"v"`
}

// Keyed is a condition on a memory's key, and comes before the operations that it guards. It rejects the entry unless
// the key is as the client expects and as the proposer read it. It changes nothing. Its result has the id and the
// revision of the key's memory; no id for a free key.
type Keyed struct {
	Namespace string `msgpack:"ns" max:"name"`
	Path      string `msgpack:"pa"`

	IfAbsent   bool    `msgpack:"ia,omitempty"`
	IfRevision *uint32 `msgpack:"ir,omitempty"`
	IfSHA256   string  `msgpack:"is,omitempty"` // lower-case hex of the text's SHA-256
	Must       bool    `msgpack:"mu,omitempty"` // the key has a memory
	Holder     *string `msgpack:"ho,omitempty"` // the memory that the entry was decided from, blank for a free key; nil for any
	At         *uint32 `msgpack:"at,omitempty"` // the revision of it that the entry was decided from; nil for any
}

// Forget makes a memory invisible to every reader. It is never undone.
type Forget struct {
	RID    string `msgpack:"rid" subject:""`
	At     Time   `msgpack:"at"`
	Reason string `msgpack:"re,omitempty" max:"text"`
}

// Sweep forgets the listed memories that have expired by the log's time. The others stay.
type Sweep struct {
	RIDs []string `msgpack:"r" max:"name"`
}

// Reinforce records that memories were recalled. Rows that are gone by then are skipped.
type Reinforce struct {
	Hits []Hit `msgpack:"h"`
}

// A Hit says how often a memory was recalled, and when last.
type Hit struct {
	RID   string `msgpack:"r"`
	Count uint32 `msgpack:"c"`
	At    Time   `msgpack:"a"`
}
