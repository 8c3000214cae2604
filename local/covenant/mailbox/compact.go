package mailbox

import (
	"maps"
	"slices"
)

const (
	minDue      = 4 << 20 // a file shorter than this is left alone
	maxFinished = 100_000
	maxCached   = 10_000
)

// finish remembers that a task is over, and forgets the oldest that was.
func (b *Box) finish(id string) {
	if b.finished = append(b.finished, id); len(b.finished) > maxFinished {
		delete(b.tasks, b.finished[0])
		b.finished = b.finished[1:]
	}
}

// cacheResult remembers a result for tasks to come, and forgets the oldest one.
func (b *Box) cacheResult(key string, r Result) {
	if _, known := b.cache[key]; !known {
		if b.cached = append(b.cached, key); len(b.cached) > maxCached {
			delete(b.cache, b.cached[0])
			b.cached = b.cached[1:]
		}
	}
	b.cache[key] = r
}

// compact writes the file again, in fewer lines, once it is due: at four times the size that it had when it was
// written last. A new file that cannot be written is no harm: the old one goes on.
func (b *Box) compact() {
	if b.file.Size() >= b.due {
		_ = b.file.Replace(b.events()...) // the old file goes on, and the next due size is the next attempt
		b.due = max(minDue, 4*b.file.Size())
	}
}

// events returns the events that make this state. Finished tasks and cached results come first, because later tasks are
// answered from them.
func (b *Box) events() (all []event) {
	for _, id := range b.finished {
		if k := b.tasks[id]; k != nil {
			all = append(all, event{Op: "finished", Task: &k.Task, Hash: k.hash[:]})
		}
	}
	for _, key := range b.cached {
		r := b.cache[key]
		all = append(all, event{Op: "cached", ID: key, Result: &r})
	}
	for _, k := range b.order {
		all = append(all, event{Op: "queued", Task: &k.Task, Tries: k.Attempt})
		if k.Lease != nil {
			all = append(all, event{Op: "leased", ID: k.Task.ID, Lease: k.Lease})
		}
	}
	for _, sender := range slices.Sorted(maps.Keys(b.ready)) {
		for _, r := range b.ready[sender] {
			all = append(all, event{Op: "waiting", ID: sender, Result: &r})
		}
	}
	return all
}
