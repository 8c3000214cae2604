package mailbox

import (
	"maps"
	"slices"
)

const (
	minCompactSize = 4 << 20 // bytes; a smaller file is not compacted
	maxFinished    = 100_000
	maxCached      = 10_000
)

// finish remembers a finished task and forgets the oldest finished one over the limit.
func (b *Box) finish(id string) {
	if b.finished = append(b.finished, id); len(b.finished) > maxFinished {
		delete(b.tasks, b.finished[0])
		b.finished = b.finished[1:]
	}
}

// cacheResult remembers a result for later tasks and forgets the oldest one over the limit.
func (b *Box) cacheResult(key string, r Result) {
	if _, known := b.cache[key]; !known {
		if b.cached = append(b.cached, key); len(b.cached) > maxCached {
			delete(b.cache, b.cached[0])
			b.cached = b.cached[1:]
		}
	}
	b.cache[key] = r
}

// compact rewrites the file with fewer lines when it is four times as large as after the last compaction.
func (b *Box) compact() {
	if b.file.Size() >= b.compactAt {
		_ = b.file.Replace(b.snapshot()...) // after an error the old file stays in use, and compact tries again later
		b.compactAt = max(minCompactSize, 4*b.file.Size())
	}
}

// snapshot returns events that produce the current state. Finished tasks and cached results come first.
func (b *Box) snapshot() (all []event) {
	for _, id := range b.finished {
		if k := b.tasks[id]; k != nil {
			all = append(all, event{Op: "finished", Task: &k.Task, Hash: k.hash[:]})
		}
	}
	for _, key := range b.cached {
		r := b.cache[key]
		all = append(all, event{Op: "cached", ID: key, Result: &r})
	}
	for _, k := range b.unfinished {
		all = append(all, event{Op: "queued", Task: &k.Task, Tries: k.Attempt})
		if k.Lease != nil {
			all = append(all, event{Op: "leased", ID: k.Task.ID, Lease: k.Lease})
		}
	}
	for _, sender := range slices.Sorted(maps.Keys(b.results)) {
		for _, r := range b.results[sender] {
			all = append(all, event{Op: "waiting", ID: sender, Result: &r})
		}
	}
	return all
}
