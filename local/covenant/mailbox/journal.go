package mailbox

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

type event struct {
	At     uint64  `json:"at"`
	Op     string  `json:"op"`
	Task   *Task   `json:"task,omitempty"`
	ID     string  `json:"id,omitempty"`
	Lease  *Lease  `json:"lease,omitempty"`
	Result *Result `json:"result,omitempty"`
	Hash   []byte  `json:"hash,omitempty"` // of a finished task's body
	Tries  uint32  `json:"tries,omitempty"`
}

// whole reports whether an event has what its kind needs.
func (e event) whole() bool {
	switch e.Op {
	case "queued", "finished":
		return e.Task != nil
	case "leased":
		return e.Lease != nil
	case "posted", "waiting", "cached":
		return e.Result != nil
	}
	return true
}

// commit writes events and then makes them so.
func (b *Box) commit(events ...event) error {
	if err := b.file.Commit(events...); err != nil {
		return fmt.Errorf("mailbox: %w", err)
	}
	for _, e := range events {
		b.apply(e)
	}
	b.compact()
	return nil
}

func (b *Box) apply(e event) {
	switch e.Op {
	case "queued":
		b.places++
		k := &known{Entry: Entry{Task: *e.Task, Attempt: e.Tries}, hash: sha256.Sum256(e.Task.Body), place: b.places}
		b.tasks[e.Task.ID] = k
		b.queue[e.Task.Recipient] = append(b.queue[e.Task.Recipient], k)
		b.order = append(b.order, k)
	case "leased":
		k := b.tasks[e.ID]
		if k == nil {
			return
		}
		k.Lease, k.Attempt = e.Lease, e.Lease.Attempt
		b.queue[k.Task.Recipient] = without(b.queue[k.Task.Recipient], k)
	case "posted":
		k := b.tasks[e.Result.Task]
		if k == nil {
			return
		}
		b.ready[k.Task.Sender] = append(b.ready[k.Task.Sender], *e.Result)
		if e.Result.Final {
			k.final, k.Lease = true, nil
			b.queue[k.Task.Recipient] = without(b.queue[k.Task.Recipient], k)
			b.order = without(b.order, k)
			if k.Task.Cache != "" {
				b.cacheResult(cacheKey(k.Task), *e.Result)
			}
			k.Task.Body = nil // its hash is enough from now on
			b.finish(e.Result.Task)
		}
	case "requeued":
		if k := b.tasks[e.ID]; k != nil && k.Lease != nil {
			k.Lease = nil
			q := b.queue[k.Task.Recipient]
			at, _ := slices.BinarySearchFunc(q, k.place, byPlace)
			b.queue[k.Task.Recipient] = slices.Insert(q, at, k)
		}
	case "finished":
		k := &known{Entry: Entry{Task: *e.Task}, final: true}
		copy(k.hash[:], e.Hash)
		b.tasks[e.Task.ID] = k
		b.finish(e.Task.ID)
	case "waiting":
		b.ready[e.ID] = append(b.ready[e.ID], *e.Result)
	case "cached":
		b.cacheResult(e.ID, *e.Result)
	case "taken":
		if r := b.ready[e.ID]; len(r) > 0 {
			b.ready[e.ID] = r[1:]
		}
	}
}

// without takes a task out of those that are in the order of their places.
func without(list []*known, k *known) []*known {
	if i, found := slices.BinarySearchFunc(list, k.place, byPlace); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}
