package oplog

import (
	"encoding/binary"
	"math"
	"slices"
)

// TierOf returns the effective tier of a memory: longterm unless it names another.
func TierOf(tier string) string {
	switch tier {
	case "working", "episodic":
		return tier
	}
	return "longterm"
}

// Status is the state of a memory in its life cycle.
type Status uint8

// The statuses. Numbers are stored.
const (
	Active       Status = iota
	Consolidated        // merged into another memory, or split into others
	Tombstoned          // forgotten
	Quarantined         // stored, and in no answer until someone releases it
)

func (s Status) String() string {
	return [...]string{"active", "consolidated", "tombstoned", "quarantined"}[min(s, Quarantined)]
}

// Vector is a little-endian float32 array, kept as the bytes the client sent.
type Vector []byte

// MakeVector packs floats. If all are zero, it returns an empty vector, because zeros have no direction.
func MakeVector(f []float32) Vector {
	if !slices.ContainsFunc(f, func(x float32) bool { return x != 0 }) {
		f = nil
	}
	v := make(Vector, 4*len(f))
	for i, x := range f {
		binary.LittleEndian.PutUint32(v[4*i:], math.Float32bits(x))
	}
	return v
}

// MeanVector packs the arithmetic mean of vectors. It returns nil for no vectors, or vectors of different lengths.
func MeanVector(vectors [][]float32) Vector {
	if len(vectors) == 0 {
		return nil
	}
	sum := make([]float64, len(vectors[0]))
	for _, v := range vectors {
		if len(v) != len(sum) {
			return nil
		}
		for i, x := range v {
			sum[i] += float64(x)
		}
	}
	out := make([]float32, len(sum))
	for i := range sum {
		out[i] = float32(sum[i] / float64(len(vectors)))
	}
	return MakeVector(out)
}

// Floats unpacks the vector.
func (v Vector) Floats() []float32 {
	f := make([]float32, len(v)/4)
	for i := range f {
		f[i] = math.Float32frombits(binary.LittleEndian.Uint32(v[4*i:]))
	}
	return f
}

// A Memory is one record as the state holds it. Its vector is a row of its own (View.Vector).
type Memory struct {
	Seq Seq `msgpack:"q"`
	Content
	Past
	Entities []string `msgpack:"xe,omitempty"`
	Claims   []string `msgpack:"xc,omitempty"` // ids of those its text states and no other's did before
	Keys     []string `msgpack:"ik,omitempty"` // idempotency keys under which it was stored and corrected, for a purge
	Undone   []string `msgpack:"ud,omitempty"` // what was made of it and taken back: erased with it
}

// Content holds what is said of a memory when it is stored: operation and row have the same fields. What a client may
// say, and under which name, is declared in node/api's Draft.
type Content struct {
	RID          string  `msgpack:"rid" subject:"" max:"name"`
	Text         string  `msgpack:"tx" max:"text"`
	Type         string  `msgpack:"ty,omitempty" max:"name"`
	Importance   float64 `msgpack:"im,omitempty"`
	HalfLife     float64 `msgpack:"hl,omitempty"` // seconds
	Valence      float64 `msgpack:"va,omitempty"`
	Certainty    float64 `msgpack:"ce,omitempty"`
	Namespace    string  `msgpack:"ns,omitempty" max:"name"` // never empty once proposed: the service fills in "default"
	Domain       string  `msgpack:"do,omitempty" max:"name"`
	Source       string  `msgpack:"so,omitempty" max:"name"`
	Emotion      string  `msgpack:"em,omitempty" max:"name"`
	Metadata     []byte  `msgpack:"md,omitempty" max:"metadata"`   // JSON
	Attributes   []byte  `msgpack:"ab,omitempty" max:"attributes"` // canonical JSON of package filter
	Tier         string  `msgpack:"ti,omitempty" max:"name"`
	Owner        string  `msgpack:"ow,omitempty" max:"name"`
	Session      string  `msgpack:"se,omitempty" max:"name"` // empty in an operation: the namespace's active session, if there is one
	Speaker      string  `msgpack:"sp,omitempty" max:"name"`
	Due          Time    `msgpack:"du,omitempty"`
	TemporalKind string  `msgpack:"tk,omitempty" max:"name"`
	Created      Time    `msgpack:"at"`
	Updated      Time    `msgpack:"up,omitempty"` // 0 in an operation: Created
	Pin          bool    `msgpack:"pi,omitempty"` // no policy changes it: THINK neither merges nor moves nor forgets it
	Path         string  `msgpack:"pa,omitempty"` // the memory's key in its namespace; see CheckPath
	Extractor    uint8   `msgpack:"xv,omitempty"` // version of the extractor that found the entities; 0 for none
	Expires      Time    `msgpack:"ex,omitempty"` // 0: never; see Memory.ExpiredAt
	Refresh      float64 `msgpack:"rf,omitempty"` // seconds that it lasts after it was read; 0: reading changes nothing
	Unsearchable bool    `msgpack:"us,omitempty"` // it is stored and not indexed: no words, vector, entities or claims
	Stamp
}

// Indexed reports whether a memory may have words, a vector, entities and claims.
func (m *Memory) Indexed() bool { return !m.Unsearchable && m.Status != Quarantined }

// Unlisted reports whether lists leave out a memory, because it was forgotten or is in quarantine.
func (m *Memory) Unlisted() bool { return m.Status == Tombstoned || m.Status == Quarantined }

// ReasonExpired is the reason of a memory that was forgotten because its time was over.
const ReasonExpired = "expired"

// Expiry returns the time at which a memory expires; 0 if it never does. A pinned memory never does.
func (m *Memory) Expiry() Time {
	if m.Pin || m.Status == Tombstoned {
		return 0
	}
	return m.Expires
}

// ExpiredAt reports whether a memory has expired at a time of the log. Readers do not see an expired memory.
func (m *Memory) ExpiredAt(now Time) bool {
	at := m.Expiry()
	return at != 0 && at <= now
}

// Expire marks an expired memory as forgotten, as a Sweep does. The time is that of its expiry, or of a later change,
// such as one that unpinned it.
func (m *Memory) Expire() {
	m.Status, m.Updated, m.Reason = Tombstoned, max(m.Expires, m.Updated), ReasonExpired
}

// Expired reports whether a memory was forgotten because its time was over.
func (m *Memory) Expired() bool {
	return m.Status == Tombstoned && m.Expires != 0 && m.Updated >= m.Expires && m.Reason == ReasonExpired
}

// Past holds what happened to a memory after it was stored. A new memory has the zero value; an imported one brings
// its own.
type Past struct {
	Status   Status   `msgpack:"s,omitempty"`
	Order    uint64   `msgpack:"od,omitempty"` // place in the session, from 0
	Accessed Time     `msgpack:"la,omitempty"`
	Accesses uint64   `msgpack:"ac,omitempty"`
	Into     string   `msgpack:"in,omitempty"`            // rid of the memory this one was merged into
	Split    []string `msgpack:"spl,omitempty"`           // rids of the memories this one was split into
	Revision uint32   `msgpack:"rv,omitempty"`            // how often it was corrected
	Merged   uint32   `msgpack:"mg,omitempty"`            // made of so many others
	Reason   string   `msgpack:"fr,omitempty" max:"text"` // why it was forgotten
	By       string   `msgpack:"sb,omitempty" max:"name"` // rid of the memory that supersedes this one
	Surely   bool     `msgpack:"ss,omitempty"`            // both state the same relation of the same subject, which has one value at a time
}

// A Revision is the state of a memory before a correction.
type Revision struct {
	Number     uint32  `msgpack:"n"`
	Text       string  `msgpack:"x" max:"text"`
	Importance float64 `msgpack:"i"`
	Valence    float64 `msgpack:"v"`
	Certainty  float64 `msgpack:"c"`
	Pin        bool    `msgpack:"pi,omitempty"`
	Path       string  `msgpack:"pa,omitempty"`
	Namespace  string  `msgpack:"ns,omitempty" max:"name"`
	Metadata   []byte  `msgpack:"m,omitempty" max:"metadata"`
	Expires    Time    `msgpack:"ex,omitempty"`
	Hidden     bool    `msgpack:"us,omitempty"` // it was Unsearchable
	Held       bool    `msgpack:"q,omitempty"`  // it was Quarantined
	Attributes []byte  `msgpack:"ab,omitempty" max:"attributes"`
	By         string  `msgpack:"sb,omitempty" max:"name"`
	Surely     bool    `msgpack:"ss,omitempty"`
	From       Time    `msgpack:"f,omitempty"`            // since when it was so
	Reason     string  `msgpack:"r,omitempty" max:"text"` // of the correction that replaced it
	Until      Time    `msgpack:"at"`
	Erased     Time    `msgpack:"er,omitempty"` // when what it said was erased for good
	Stamp
}

// An Edge is a relation between two entities.
type Edge struct {
	ID      string  `msgpack:"id"`
	Src     string  `msgpack:"s"`
	Dst     string  `msgpack:"d"`
	Type    string  `msgpack:"t"`
	Weight  float64 `msgpack:"w"`
	Created Time    `msgpack:"c"`
	Updated Time    `msgpack:"u"`
}

// An Entity is a name that memories, edges or claims mention.
type Entity struct {
	Name     string `msgpack:"n"`
	Type     string `msgpack:"t"`
	First    Time   `msgpack:"f"`
	Last     Time   `msgpack:"l"`
	Mentions uint64 `msgpack:"m"`
}

// StoredClaim is a claim as the state holds it.
type StoredClaim struct {
	Claim
	Updated Time `msgpack:"u"`
}

// StoredAlias is the name that an alias means.
type StoredAlias struct {
	Canonical string `msgpack:"c"`
	Source    string `msgpack:"s"`
	At        Time   `msgpack:"at"`
}

// SessionStatus is the state of a session in its life cycle.
type SessionStatus uint8

// The session statuses. Numbers are stored.
const (
	SessionActive SessionStatus = iota
	SessionEnded
	SessionAbandoned
	SessionImplicit // never started: memories named it
)

func (s SessionStatus) String() string {
	return [...]string{"active", "ended", "been abandoned", "no explicit start"}[min(s, SessionImplicit)]
}

// A Session groups memories of one conversation or task.
type Session struct {
	ID         string        `msgpack:"id"`
	Namespace  string        `msgpack:"ns"`
	Client     string        `msgpack:"cl,omitempty"`
	Metadata   []byte        `msgpack:"md,omitempty"`
	Started    Time          `msgpack:"st"`
	Ended      Time          `msgpack:"en,omitempty"`
	Status     SessionStatus `msgpack:"s,omitempty"`
	Summary    string        `msgpack:"su,omitempty"`
	Memories   uint64        `msgpack:"m,omitempty"`
	ValenceSum float64       `msgpack:"v,omitempty"`
	Topics     []string      `msgpack:"t,omitempty"`
}

// A Database is a hard wall: nothing inside it is seen from another.
type Database struct {
	ID          DB     `msgpack:"id"`
	Name        string `msgpack:"n"`
	Created     Time   `msgpack:"c"`
	Dim         uint32 `msgpack:"d,omitempty"` // of its vectors; 0 until the first
	MaxMemories uint64 `msgpack:"q,omitempty"`
	By          DB     `msgpack:"b,omitempty"` // the database whose token made it; 0 for an administrator
	Purged      Index  `msgpack:"p,omitempty"` // the last record that erased something of it: what it did up to there is in no log

	Salt []byte `msgpack:"sa,omitempty"` // of the hashes of texts that were erased for good; none until the first

	Embedder *Embedder `msgpack:"em,omitempty"` // what makes vectors for texts that come without; nil until the first
}

// A Token admits to a database. The text is known to its holder alone.
type Token struct {
	Hash    string   `msgpack:"h"`
	DB      DB       `msgpack:"d"`
	Label   string   `msgpack:"l,omitempty"`
	Scopes  []string `msgpack:"s,omitempty"`
	Created Time     `msgpack:"c"`
	Expires Time     `msgpack:"x,omitempty"`
	Revoked Time     `msgpack:"r,omitempty"`
	Spaces  Spaces   `msgpack:"ns,omitempty"` // the namespaces that it is bound to; none: it is not
	Policy
}

// A Policy says how far a token's texts are trusted.
type Policy struct {
	Trust      string `msgpack:"tr,omitempty" max:"name"` // the highest class that they may have; blank: operator for one that administers, else agent
	Quarantine string `msgpack:"qu,omitempty" max:"name"` // texts of this class and those below it wait for their release; blank: none do
}

// NodeInfo holds a node's addresses for clients and peers.
type NodeInfo struct {
	ID      uint32 `msgpack:"id"`
	Wire    string `msgpack:"w"`
	HTTP    string `msgpack:"h"`
	Peer    string `msgpack:"p"`
	Version string `msgpack:"v"`
	Key     string `msgpack:"k,omitempty"` // proves that a node is this one; see raft.Config.KeyOf
}

// Counts holds the numbers of memories by status.
type Counts struct {
	Active       uint64 `msgpack:"a"`
	Consolidated uint64 `msgpack:"c"`
	Tombstoned   uint64 `msgpack:"t"`
	Quarantined  uint64 `msgpack:"qn,omitempty"`
}

// Count counts a memory of a status in, or out.
func (c *Counts) Count(s Status, by int64) {
	*[...]*uint64{&c.Active, &c.Consolidated, &c.Tombstoned, &c.Quarantined}[s] += uint64(by)
}

// Add adds other counts, or a change of these: one that goes down is a number that wraps around.
func (c *Counts) Add(by Counts) {
	c.Active += by.Active
	c.Consolidated += by.Consolidated
	c.Tombstoned += by.Tombstoned
	c.Quarantined += by.Quarantined
}

// Stats are a database's counters, kept by Apply so that reading them costs nothing.
type Stats struct {
	NextSeq uint64 `msgpack:"n"` // the last sequence number given out
	Counts
	Edges           uint64 `msgpack:"e"`
	Entities        uint64 `msgpack:"en"`
	Claims          uint64 `msgpack:"cl"`
	Operations      uint64 `msgpack:"o"` // applied, rejections not counted
	OpenConflicts   uint64 `msgpack:"oc"`
	PendingTriggers uint64 `msgpack:"pt"`
	Expiring        uint64 `msgpack:"ex,omitempty"` // memories that expire some time
	Superseded      uint64 `msgpack:"su,omitempty"` // memories that others supersede
}
