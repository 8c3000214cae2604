package oplog

// A Record is one committed Raft log record. Data is empty for the log's own bookkeeping, which only moves the index.
type Record struct {
	Index, Term Index
	Data        []byte
}

// An Outcome is the result of applying one entry.
type Outcome struct {
	Index    Index
	Number   int // index of the entry in its record
	HLC      HLC
	Entry    *Entry
	Results  []Result // one for each operation; nil if the entry was rejected
	Err      *Error   // the rejection
	Stored   []Stored // by operation: the memory that a Remember stored; nil if none did, or the entry was not applied just now
	Replayed bool     // the idempotency key was known: Results are those of the first entry, and nothing was applied
}

// Stored is a memory as it was stored, for consumers such as the index. It is read only.
type Stored struct {
	Memory *Memory // nil: the operation stored none
	Vector Vector
	Epoch  uint32 // of the embedder whose vectors the database had; see Embedding
}

// Idle returns the indexes of operations that changed nothing: the memory to forget did not exist, the memory to
// store did, a peer had pushed the operation before, or the operation is a condition.
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

// Done returns the operations that changed something, as the log's window gives them; none for a rejected or replayed
// entry.
func (o *Outcome) Done() []Op {
	if o.Err != nil || o.Replayed {
		return nil
	}
	return Without(o.Entry.Ops, o.Idle())
}

// Without returns a list without the elements at some indexes, which are in ascending order.
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
