package oplog

import (
	"encoding/json"
	"math"
)

// Remember stores one memory. Everything that chance, the clock or a model decides is in it already.
type Remember struct {
	RID          string    `msgpack:"rid"`
	Text         string    `msgpack:"tx"`
	Type         string    `msgpack:"ty,omitempty"`
	Importance   float64   `msgpack:"im,omitempty"`
	HalfLife     float64   `msgpack:"hl,omitempty"` // seconds
	Valence      float64   `msgpack:"va,omitempty"`
	Certainty    float64   `msgpack:"ce,omitempty"`
	Namespace    string    `msgpack:"ns,omitempty"` // never empty once proposed: the service fills in "default"
	Domain       string    `msgpack:"do,omitempty"`
	Source       string    `msgpack:"so,omitempty"`
	Emotion      string    `msgpack:"em,omitempty"`
	Metadata     []byte    `msgpack:"md,omitempty"` // JSON
	Tier         string    `msgpack:"ti,omitempty"`
	Owner        string    `msgpack:"ow,omitempty"`
	Session      string    `msgpack:"se,omitempty"` // empty: the namespace's active session, if there is one
	Speaker      string    `msgpack:"sp,omitempty"`
	Due          Time      `msgpack:"du,omitempty"`
	TemporalKind string    `msgpack:"tk,omitempty"`
	Created      Time      `msgpack:"at"`
	Updated      Time      `msgpack:"up,omitempty"` // 0: Created
	Vector       Vector    `msgpack:"ve,omitempty"`
	Extractor    uint8     `msgpack:"xv,omitempty"` // version of the extractor that found Entities; 0 for none
	Entities     []Mention `msgpack:"xe,omitempty"`
	Claims       []Claim   `msgpack:"-"` // that the text states: they travel in a Stated beside it

	// Key is the memory's own idempotency key, where a batch gives each of its memories one. A memory whose key is known
	// is not stored again: its Result names the first one and has not Changed. Another one under the key fails the entry.
	Key    string `msgpack:"ik,omitempty"`
	Digest []byte `msgpack:"ig,omitempty"`
}

// A Mention is an entity named in a memory's text.
type Mention struct {
	Name string `msgpack:"n"`
	Type string `msgpack:"t,omitempty"`
}

// Correct changes a memory in place and keeps what it was as a revision. Nil fields stay as they are.
type Correct struct {
	RID        string   `msgpack:"rid"`
	Text       *string  `msgpack:"tx,omitempty"`
	Importance *float64 `msgpack:"im,omitempty"`
	Valence    *float64 `msgpack:"va,omitempty"`
	Certainty  *float64 `msgpack:"ce,omitempty"`
	Metadata   []byte   `msgpack:"md,omitempty"`
	Merge      []byte   `msgpack:"mm,omitempty"` // JSON object: its members replace those of the metadata, null removes one
	Vector     Vector   `msgpack:"ve,omitempty"` // of the new text
	Reason     string   `msgpack:"re,omitempty"`
	At         Time     `msgpack:"at"`

	Extractor uint8     `msgpack:"xv,omitempty"` // of the new text, as in Remember
	Entities  []Mention `msgpack:"xe,omitempty"`
	Claims    []Claim   `msgpack:"-"`
}

// Forget makes a memory invisible to every reader. It is never undone.
type Forget struct {
	RID    string `msgpack:"rid"`
	At     Time   `msgpack:"at"`
	Reason string `msgpack:"re,omitempty"`
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

var memoryFamily = family{
	{KindRemember, "remember", func() Op { return new(Remember) }},
	{KindCorrect, "correct", func() Op { return new(Correct) }},
	{KindForget, "forget", func() Op { return new(Forget) }},
	{KindReinforce, "reinforce", func() Op { return new(Reinforce) }},
}

// Kind implements Op.
func (*Remember) Kind() OpKind { return KindRemember }

// Kind implements Op.
func (*Correct) Kind() OpKind { return KindCorrect }

// Kind implements Op.
func (*Forget) Kind() OpKind { return KindForget }

// Kind implements Op.
func (*Reinforce) Kind() OpKind { return KindReinforce }

func (op *Remember) apply(a *applying) (Result, *Error) {
	d, err := a.database()
	if err != nil {
		return Result{}, err
	}
	if op.RID == "" {
		return Result{}, Errorf(Invalid, "a memory needs an id")
	}
	for _, x := range []float64{op.Importance, op.HalfLife, op.Valence, op.Certainty} {
		if math.IsNaN(x) || math.IsInf(x, 0) { // sums of these differ by processor
			return Result{}, Errorf(Invalid, "a number of a memory is not finite")
		}
	}
	if first, known, err := a.known(op.Key, op.Digest); known || err != nil {
		if len(first) > 0 {
			return Result{ID: first[0].ID, Num: first[0].Num}, err
		}
		return Result{}, err
	}
	if a.get(tRID, a.db, []byte(op.RID)) != nil {
		return Result{}, Errorf(Conflict, "memory %s is there already", op.RID)
	}
	if n := len(op.Vector) / 4; n > 0 {
		if d.Dim == 0 {
			d.Dim = uint32(n)
			a.setDatabase(d)
		} else if uint32(n) != d.Dim {
			return Result{}, Errorf(Invalid, "embedding has %d dimensions, database %s has %d", n, d.Name, d.Dim)
		}
	}
	if d.MaxMemories > 0 && a.stats.Active >= d.MaxMemories {
		return Result{}, Errorf(TooLarge, "database %s is at its quota of %d memories", d.Name, d.MaxMemories)
	}
	m := op.memory()
	a.stats.NextSeq++
	m.Seq = Seq(a.stats.NextSeq)
	if err := a.joinSession(m, op.Session); err != nil {
		return Result{}, err
	}
	key := seqKey(m.Seq)
	a.put(tRID, a.db, []byte(m.RID), key)
	a.put(tCreated, a.db, timeKey(m.Created, m.Seq), nil)
	a.put(tNamespace, a.db, nameKey(m.Namespace, m.Seq), nil)
	if m.Due != 0 {
		a.put(tDue, a.db, timeKey(m.Due, m.Seq), nil)
	}
	if len(op.Vector) > 0 {
		a.put(a.vectors(a.db), a.db, key, op.Vector)
	}
	a.relink(m, op.Entities, op.Extractor, m.Created)
	a.noteKeys(m, op.Key, a.key)
	a.putMemory(m)
	a.countStatus(m, +1)
	r := Result{ID: m.RID, Num: uint64(m.Seq), Changed: true}
	a.keepKey(op.Key, op.Digest, 0, []Result{r})
	return r, nil
}

func (op *Remember) memory() *Memory {
	m := &Memory{
		RID: op.RID, Text: op.Text, Type: op.Type, Importance: op.Importance, HalfLife: op.HalfLife,
		Valence: op.Valence, Certainty: op.Certainty, Namespace: op.Namespace, Domain: op.Domain,
		Source: op.Source, Emotion: op.Emotion, Metadata: op.Metadata, Tier: op.Tier, Owner: op.Owner,
		Session: op.Session, Speaker: op.Speaker, Due: op.Due, TemporalKind: op.TemporalKind,
		Created: op.Created, Updated: op.Updated, Accessed: op.Created, Status: Active, Extractor: op.Extractor,
	}
	if m.Updated == 0 {
		m.Updated = m.Created
	}
	return m
}

func (op *Correct) apply(a *applying) (Result, *Error) {
	m, err := a.liveMemory(op.RID)
	if err != nil {
		return Result{}, err
	}
	d, err := a.database()
	if err != nil {
		return Result{}, err
	}
	if n := uint32(len(op.Vector) / 4); n > 0 && d.Dim != 0 && n != d.Dim {
		return Result{}, Errorf(Invalid, "embedding has %d dimensions, database %s has %d", n, d.Name, d.Dim)
	}
	for _, x := range []*float64{op.Importance, op.Valence, op.Certainty} {
		if x != nil && (math.IsNaN(*x) || math.IsInf(*x, 0)) {
			return Result{}, Errorf(Invalid, "a number of a memory is not finite")
		}
	}
	merged, err := mergeJSON(m.Metadata, op.Merge)
	if err != nil {
		return Result{}, err
	}
	a.putRevision(m, op.Reason, op.At)
	m.Revision++
	m.Updated = op.At
	if op.Importance != nil {
		m.Importance = *op.Importance
	}
	if op.Valence != nil {
		m.Valence = *op.Valence
	}
	if op.Certainty != nil {
		m.Certainty = *op.Certainty
	}
	if op.Metadata != nil {
		m.Metadata = op.Metadata
	}
	if op.Merge != nil {
		m.Metadata = merged
	}
	if op.Text != nil {
		m.Text = *op.Text
		a.relink(m, op.Entities, op.Extractor, op.At)
		a.dropClaims(m)
		// The old vector speaks of the old text: without a new one the row has none.
		if len(op.Vector) > 0 {
			a.put(a.vectors(a.db), a.db, seqKey(m.Seq), op.Vector)
		} else {
			a.del(a.vectors(a.db), a.db, seqKey(m.Seq))
		}
	}
	a.noteKeys(m, a.key)
	a.putMemory(m)
	return Result{ID: m.RID, Num: uint64(m.Revision), Changed: true}, nil
}

// mergeJSON puts the members of one object into another, one level deep. Names come out sorted, so that the result is
// the same everywhere.
func mergeJSON(into, from []byte) ([]byte, *Error) {
	if from == nil {
		return into, nil
	}
	have, add := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(into) > 0 && json.Unmarshal(into, &have) != nil {
		return nil, Errorf(Invalid, "the memory's metadata is no object that another could be merged into")
	}
	if json.Unmarshal(from, &add) != nil {
		return nil, Errorf(Invalid, "metadata to merge is not a JSON object")
	}
	if have == nil { // it was null
		have = map[string]json.RawMessage{}
	}
	for k, v := range add {
		if string(v) == "null" {
			delete(have, k)
		} else {
			have[k] = v
		}
	}
	b, err := json.Marshal(have)
	if err != nil {
		return nil, Errorf(Invalid, "metadata cannot be merged")
	}
	return b, nil
}

func (op *Forget) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	m, err := a.liveMemory(op.RID)
	if err != nil {
		return Result{ID: op.RID}, nil // not found is an answer, not a refusal
	}
	m.Reason = op.Reason
	a.forget(m, op.At)
	return Result{ID: op.RID, Num: uint64(m.Seq), Changed: true}, nil
}

// maxHalfLife bounds what reinforcement can do: one year.
const maxHalfLife = 365 * 24 * 3600

func (op *Reinforce) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	var n uint64
	for _, h := range op.Hits {
		m, err := a.liveMemory(h.RID)
		if err != nil || m.Status != Active {
			continue
		}
		m.Accessed = max(m.Accessed, h.At)
		for range min(h.Count, 100) { // 1.2^100 is past any cap: repeated products are exact on every machine
			m.HalfLife = math.Min(m.HalfLife*1.2, maxHalfLife)
		}
		m.Accesses += uint64(h.Count)
		a.putMemory(m)
		n++
	}
	return Result{Num: n, Changed: n > 0}, nil
}
