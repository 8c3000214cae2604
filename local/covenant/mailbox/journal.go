package mailbox

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// event is a change of the mailbox, one line of its file.
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

// valid reports whether an event has the fields that its op needs.
func (e event) valid() bool {
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

// commit writes events to the file and then applies them.
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
		b.lastSeq++
		k := &taskState{Entry: Entry{Task: *e.Task, Attempt: e.Tries}, hash: sha256.Sum256(e.Task.Body), seq: b.lastSeq}
		b.tasks[e.Task.ID] = k
		b.queue[e.Task.Recipient] = append(b.queue[e.Task.Recipient], k)
		b.unfinished = append(b.unfinished, k)
	case "leased":
		k := b.tasks[e.ID]
		if k == nil {
			return
		}
		k.Lease, k.Attempt = e.Lease, e.Lease.Attempt
		b.queue[k.Task.Recipient] = removeTask(b.queue[k.Task.Recipient], k)
	case "posted":
		k := b.tasks[e.Result.Task]
		if k == nil {
			return
		}
		b.results[k.Task.Sender] = append(b.results[k.Task.Sender], *e.Result)
		if e.Result.Final {
			k.finished, k.Lease = true, nil
			b.queue[k.Task.Recipient] = removeTask(b.queue[k.Task.Recipient], k)
			b.unfinished = removeTask(b.unfinished, k)
			if k.Task.Cache != "" {
				b.cacheResult(cacheKey(k.Task), *e.Result)
			}
			k.Task.Body = nil // the hash is enough to recognize a duplicate
			b.finish(e.Result.Task)
		}
	case "requeued":
		if k := b.tasks[e.ID]; k != nil && k.Lease != nil {
			k.Lease = nil
			q := b.queue[k.Task.Recipient]
			at, _ := slices.BinarySearchFunc(q, k.seq, bySeq)
			b.queue[k.Task.Recipient] = slices.Insert(q, at, k)
		}
	case "finished":
		k := &taskState{Entry: Entry{Task: *e.Task}, finished: true}
		copy(k.hash[:], e.Hash)
		b.tasks[e.Task.ID] = k
		b.finish(e.Task.ID)
	case "waiting":
		b.results[e.ID] = append(b.results[e.ID], *e.Result)
	case "cached":
		b.cacheResult(e.ID, *e.Result)
	case "taken":
		if r := b.results[e.ID]; len(r) > 0 {
			b.results[e.ID] = r[1:]
		}
	}
}

// removeTask removes a task from a list that is sorted by seq.
func removeTask(list []*taskState, k *taskState) []*taskState {
	if i, found := slices.BinarySearchFunc(list, k.seq, bySeq); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}
