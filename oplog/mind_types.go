package oplog

// ConflictStatus is the state of a conflict: open, or how it ended.
type ConflictStatus uint8

// The conflict statuses. Numbers are stored, and order the lists.
const (
	ConflictOpen ConflictStatus = iota
	ConflictResolved
	ConflictDismissed
)

var conflictStatuses = [...]string{"open", "resolved", "dismissed"}

func (s ConflictStatus) String() string { return conflictStatuses[min(s, ConflictDismissed)] }

// Priority says how urgent a conflict is, the most urgent first.
type Priority uint8

// The priorities. Numbers are stored.
const (
	Critical Priority = iota
	High
	Medium
	Low
)

func (p Priority) String() string {
	return [...]string{"critical", "high", "medium", "low"}[min(p, Low)]
}

// A ConflictRow is a contradiction as the state holds it. A side is a memory's rid, or, where no memory tells of
// it, "edge:" and an edge's id or "claim:" and a claim's.
type ConflictRow struct {
	ID         string         `msgpack:"id"`
	Type       string         `msgpack:"t"` // identity_fact, preference, temporal, minor
	Priority   Priority       `msgpack:"p"`
	Status     ConflictStatus `msgpack:"s,omitempty"`
	A          string         `msgpack:"a"`
	B          string         `msgpack:"b"`
	Entity     string         `msgpack:"e,omitempty"`
	Relation   string         `msgpack:"r,omitempty"`
	Namespace  string         `msgpack:"ns,omitempty"`
	Reason     string         `msgpack:"re" max:"text"`
	Detected   Time           `msgpack:"at"`
	DetectedBy uint32         `msgpack:"by,omitempty"` // node
	Resolved   Time           `msgpack:"ra,omitempty"`
	Strategy   string         `msgpack:"st,omitempty"`
	Winner     string         `msgpack:"w,omitempty"`
	Merged     string         `msgpack:"m,omitempty"` // rid that a merge made
	Note       string         `msgpack:"n,omitempty" max:"text"`
}

// Other returns the side that is not this one.
func (c *ConflictRow) Other(side string) string {
	if c.A == side {
		return c.B
	}
	return c.A
}

// TriggerStatus says how far a trigger has come in its life.
type TriggerStatus uint8

// The trigger statuses. Numbers are stored.
const (
	TriggerPending TriggerStatus = iota
	TriggerDelivered
	TriggerAcknowledged
	TriggerActed
	TriggerDismissed
	TriggerExpired
)

var triggerStatuses = [...]string{"pending", "delivered", "acknowledged", "acted", "dismissed", "expired"}

func (s TriggerStatus) String() string { return triggerStatuses[min(s, TriggerExpired)] }

// A TriggerRow is something an agent should act on.
type TriggerRow struct {
	ID       string        `msgpack:"id"`
	Type     string        `msgpack:"t"`
	Urgency  float64       `msgpack:"u"`
	Status   TriggerStatus `msgpack:"s,omitempty"`
	Reason   string        `msgpack:"re" max:"text"`
	Action   string        `msgpack:"ac" max:"text"`
	Sources  []string      `msgpack:"sr,omitempty"`
	Entity   string        `msgpack:"e,omitempty"`
	Created  Time          `msgpack:"at"`
	Expires  Time          `msgpack:"x"`
	Cooldown string        `msgpack:"k"`  // one pending or delivered trigger a key within CoolFor
	CoolFor  Time          `msgpack:"cf"` // a duration
	Moved    Time          `msgpack:"mv,omitempty"`
}

// A Pattern is a regularity that THINK has seen.
type Pattern struct {
	Key         string   `msgpack:"k"` // what makes it the same pattern
	Type        string   `msgpack:"t"`
	Description string   `msgpack:"d" max:"text"`
	Confidence  float64  `msgpack:"c"`
	Sources     []string `msgpack:"s,omitempty"`
	Entities    []string `msgpack:"e,omitempty"`
	First       Time     `msgpack:"f"`
	Confirmed   Time     `msgpack:"l"`
	Seen        uint64   `msgpack:"n"`
}

// Personality describes a database's agent by its memories: four traits from 0 to 1.
type Personality struct {
	Attentiveness float64 `msgpack:"a"`
	Depth         float64 `msgpack:"d"`
	Energy        float64 `msgpack:"e"`
	Warmth        float64 `msgpack:"w"`
	Confidence    float64 `msgpack:"c"`
	Runs          uint64  `msgpack:"r"`
	Updated       Time    `msgpack:"at"`
}

// Weights says how a database's recall weighs its signals, once it has learned from feedback.
type Weights struct {
	Sim          float64 `msgpack:"s"`
	Decay        float64 `msgpack:"d"`
	Recency      float64 `msgpack:"r"`
	GateTau      float64 `msgpack:"g"`
	AlphaImp     float64 `msgpack:"a"`
	KeywordBoost float64 `msgpack:"k"`
	Generation   uint64  `msgpack:"n"`
}

// A Judgement is a client's word on one result of a recall.
type Judgement struct {
	Query    string  `msgpack:"q" max:"text"`
	RID      string  `msgpack:"r"`
	Relevant bool    `msgpack:"v"`
	Score    float64 `msgpack:"s,omitempty"`
	Rank     int     `msgpack:"k,omitempty"`
	At       Time    `msgpack:"at"`
}

// Settings are a database's policies. Durations are in microseconds; zero switches a policy off.
type Settings struct {
	WorkingTTL   Time   `msgpack:"wt,omitempty"` // working memories are forgotten when this old
	EpisodicTTL  Time   `msgpack:"et,omitempty"` // and episodic ones
	DefaultTTL   Time   `msgpack:"dt,omitempty"` // memories stored without a time to live expire when this old
	PromoteAfter uint64 `msgpack:"pa,omitempty"` // accesses after which a memory goes up one tier
	Consolidate  bool   `msgpack:"co,omitempty"` // background THINK may merge
	QuietMind    bool   `msgpack:"qm,omitempty"` // no background THINK at all
	Redact       Redact `msgpack:"rd,omitempty"`
	// relations that have one value at a time here, or several, other than THINK and new statements take them by
	// default
	Single  []string `msgpack:"rs,omitempty" max:"name"`
	Several []string `msgpack:"rm,omitempty" max:"name"`
	Lift    []string `msgpack:"lf,omitempty" max:"name"` // members of the metadata that become attributes
	Updated Time     `msgpack:"at,omitempty"`
}

// Redact says from which memories secrets are taken out before they are stored.
type Redact uint8

// The policies. Numbers are stored.
const (
	RedactCaptures Redact = iota // from what tools said
	RedactAll
	RedactNone
)

var redactPolicies = [...]string{"capture", "all", "off"}

func (r Redact) String() string { return redactPolicies[min(r, RedactNone)] }

// Mind is the progress of cognition in a database, or in one of its namespaces.
type Mind struct {
	LastThink Time  `msgpack:"lt,omitempty"`
	Base      Index `msgpack:"b,omitempty"`
	Cursor    Seq   `msgpack:"c,omitempty"` // the walk over all memories goes on here
	Read      Seq   `msgpack:"r,omitempty"` // a round has looked for contradictions of every memory up to it
}

// Thought counts the parts of a round of cognition that Apply accepted.
type Thought struct {
	Merged          uint32   `msgpack:"m,omitempty"`
	Conflicts       uint32   `msgpack:"c,omitempty"`
	Triggers        []string `msgpack:"t,omitempty"` // ids
	Expired         uint32   `msgpack:"x,omitempty"`
	PatternsNew     uint32   `msgpack:"pn,omitempty"`
	PatternsUpdated uint32   `msgpack:"pu,omitempty"`
	Personality     bool     `msgpack:"p,omitempty"`
	Weights         bool     `msgpack:"w,omitempty"`
	Retiered        uint32   `msgpack:"r,omitempty"`
	Forgotten       uint32   `msgpack:"f,omitempty"`
}
