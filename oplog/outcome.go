package oplog

// A Record is one committed Raft log record. Data is empty for the log's own bookkeeping, which only moves the index.
type Record struct {
	Index, Term Index
	Data        []byte
}

// An Outcome says what became of one entry.
type Outcome struct {
	Index    Index
	Number   int // place of the entry in its record
	HLC      HLC
	Entry    *Entry
	Results  []Result // one an operation; nil when rejected
	Err      *Error   // the rejection
	Stored   []Stored // by operation: what a Remember stored, where the entry was applied just now; nil where it stored none
	Replayed bool     // the idempotency key was known: Results are those of the first time, nothing was done now
}

// Stored is a memory as it came into the state, for what is derived from that. It is not to be changed.
type Stored struct {
	Memory *Memory // nil: the operation stored none
	Vector Vector
	Epoch  uint32 // of the embedder whose vectors the database had; see Embedding
}

// Idle are the places of operations that changed nothing: what they were to forget was not there, what they were to
// store was, a peer had pushed them before, or they are a condition.
func (o *Outcome) Idle() (places []int) {
	for i, op := range o.Entry.Ops {
		switch op.(type) {
		case *Forget, *Remember, *Foreign:
			if !o.Results[i].Changed {
				places = append(places, i)
			}
		case *Expect, *Keyed:
			places = append(places, i)
		}
	}
	return places
}

// Done are the operations that did something, as the log's window stores them: none of an entry that was rejected or
// replayed.
func (o *Outcome) Done() []Op {
	if o.Err != nil || o.Replayed {
		return nil
	}
	return Without(o.Entry.Ops, o.Idle())
}

// Without is a list without some of its places, which are in order.
func Without[T any](list []T, places []int) []T {
	if len(places) == 0 {
		return list
	}
	kept := make([]T, 0, len(list)-len(places))
	for i, v := range list {
		if len(places) > 0 && places[0] == i {
			places = places[1:]
			continue
		}
		kept = append(kept, v)
	}
	return kept
}
