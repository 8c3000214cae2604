package oplog

import (
	"crypto/hmac"
	"crypto/sha256"
)

// The strategies of Resolve.
const (
	KeepA    = "keep_a"
	KeepB    = "keep_b"
	KeepBoth = "keep_both"
	MergeAB  = "merge"
	Dismiss  = "dismiss"
)

// Strategies lists the strategies of Resolve.
var Strategies = []string{KeepA, KeepB, KeepBoth, MergeAB, Dismiss}

// How conflicts end without a Resolve.
const (
	Superseded = "superseded" // the winner says what holds now
	Restated   = "restated"   // a side was corrected or forgotten: the pair may contradict itself again
)

// ErrNoConflict says that a conflict's id is not known.
var ErrNoConflict = &Error{Kind: NotFound, Text: "no such conflict"}

// Cognition holds the decisions that THINK made on a snapshot. Every part carries the grounds that it relied on.
// Apply drops a part whose grounds have changed, the same on every replica, and applies the others.
type Cognition struct {
	Base        Index         `msgpack:"b"` // the snapshot's place in the log
	At          Time          `msgpack:"at"`
	Expired     []string      `msgpack:"x,omitempty"` // triggers whose time is over
	Conflicts   []ConflictRow `msgpack:"c,omitempty"`
	Bounds      []ClaimBound  `msgpack:"cb,omitempty"`
	Merges      []Merge       `msgpack:"m,omitempty"`
	Triggers    []TriggerRow  `msgpack:"t,omitempty"`
	Patterns    []Pattern     `msgpack:"p,omitempty"`
	Personality *Personality  `msgpack:"pe,omitempty"`
	Weights     *Weights      `msgpack:"w,omitempty"`
	Retier      []Retier      `msgpack:"r,omitempty"`
	Outdated    []Grounds     `msgpack:"o,omitempty"` // memories whose tier's time is over
	Cursor      Seq           `msgpack:"cu,omitempty"`
	Read        Seq           `msgpack:"rd,omitempty"` // the round has read the memories up to it
	Reread      []Grounds     `msgpack:"rr,omitempty"` // and these, which had changed since a round had read them
	Namespace   string        `msgpack:"ns,omitempty"` // the only one that the round was about; blank for all
	Last        bool          `msgpack:"l,omitempty"`  // the round's last entry: it moves the time of the last THINK
}

// Grounds name a memory and the revision that a decision was made from.
type Grounds struct {
	RID      string `msgpack:"r"`
	Revision uint32 `msgpack:"v,omitempty"`
}

// Merge makes one memory of several.
type Merge struct {
	Into    Remember  `msgpack:"i"`
	Sources []Grounds `msgpack:"s"`
	Edges   []Copied  `msgpack:"-"` // relations that name a source: they travel in a HandOn next to it
}

// ClaimBound ends a claim's validity where its successor's begins.
type ClaimBound struct {
	ID string  `msgpack:"id"`
	To float64 `msgpack:"t"`
}

// Retier moves a memory to another tier.
type Retier struct {
	RID  string `msgpack:"r"`
	From string `msgpack:"f"`
	To   string `msgpack:"t"`
}

// Resolve ends a conflict: keep_a, keep_b, keep_both, merge (with Merged) or dismiss.
type Resolve struct {
	ID       string    `msgpack:"id" subject:""`
	Strategy string    `msgpack:"s"`
	Winner   string    `msgpack:"w,omitempty"` // overrides which side stays
	Merged   *Remember `msgpack:"m,omitempty"`
	Note     string    `msgpack:"n,omitempty" max:"text"`
	At       Time      `msgpack:"at"`
}

// TriggerMove takes a trigger a step through its life.
type TriggerMove struct {
	ID string        `msgpack:"id" subject:""`
	To TriggerStatus `msgpack:"t"`
	At Time          `msgpack:"at"`
}

// Feedback stores a client's judgements of results, for learning.
type Feedback struct {
	Judgements []Judgement `msgpack:"j"`
}

// SetSettings replaces a database's policies.
type SetSettings struct {
	Settings Settings `msgpack:"s"`
}

// Purge erases memories created before a time: their texts, vectors and revisions too. It looks at no more than
// purgeStep rows; Result.ID says where the next entry goes on, and is empty at the end.
//
// With RIDs, Claims or Name it erases these for good instead: the memories with what they were merged or split
// from and into, however often, claims, and the aliases of a name. The memories' texts are rejected from then on, and
// an ErasedMemory stays of each.
type Purge struct {
	Before    Time   `msgpack:"b"`
	Tier      string `msgpack:"t,omitempty"` // these filter when set
	Owner     string `msgpack:"o,omitempty"`
	Namespace string `msgpack:"n,omitempty"`
	From      string `msgpack:"f,omitempty"` // the last entry's Result.ID
	At        Time   `msgpack:"at"`

	RIDs   []string `msgpack:"r,omitempty"`
	Past   []uint32 `msgpack:"p,omitempty"` // erase these earlier revisions of the one memory alone
	Claims []string `msgpack:"c,omitempty"`
	Name   []byte   `msgpack:"na,omitempty"` // its NameHash: the log tells nothing of what is erased
	Salt   []byte   `msgpack:"sa,omitempty"` // of Name, and of the rejected texts of a database that has none yet; see MinSalt
}

// ForGood reports whether it erases for good.
func (p *Purge) ForGood() bool { return len(p.RIDs)+len(p.Claims)+len(p.Name) > 0 }

// NameHash returns the salted hash of a name.
func NameHash(salt []byte, name string) []byte {
	h := hmac.New(sha256.New, salt)
	h.Write([]byte(name))
	return h.Sum(nil)
}

// MinSalt is the least length of a salt.
const MinSalt = 16

// ErasedMemory proves that a memory was erased for good, and holds nothing that it said.
type ErasedMemory struct {
	RID       string `msgpack:"r"`
	Index     Index  `msgpack:"i"` // of the record that erased it
	At        Time   `msgpack:"a"`
	Revisions uint32 `msgpack:"v,omitempty"`
	Claims    uint32 `msgpack:"c,omitempty"`
	Entities  uint32 `msgpack:"e,omitempty"`
	Vector    bool   `msgpack:"x,omitempty"`
	Merged    bool   `msgpack:"m,omitempty"` // it was merged from others
}

// ErrNoTrigger says that a trigger's id is not known.
var ErrNoTrigger = &Error{Kind: NotFound, Text: "no such trigger"}
