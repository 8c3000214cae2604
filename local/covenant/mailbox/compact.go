package mailbox

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/local/kit"
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

// compact writes a file that says what this one does in fewer lines, and takes it. One that cannot be written is no
// harm: the old file goes on. The next attempt comes when the file has grown to four times its size.
func (b *Box) compact() {
	f, size, err := b.rewrite(b.path + ".new")
	if err == nil {
		if err = os.Rename(f.Name(), b.path); err == nil {
			err = kit.SyncDir(filepath.Dir(b.path))
			b.file.Close() // it has no name any more
			b.file, b.size = f, size
			if err != nil { // which of the two files a crash would leave is not known
				b.broken = err
			}
		} else {
			f.Close()
		}
	}
	b.due = max(minDue, 4*b.size)
}

// rewrite makes a file of the events that make this state, on disk, open for more.
func (b *Box) rewrite(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	w := bufio.NewWriter(f)
	for e := range b.events {
		if err = b.encode(w, e); err != nil {
			break
		}
	}
	err = errors.Join(err, w.Flush(), f.Sync())
	i, statErr := f.Stat()
	if err = errors.Join(err, statErr); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, i.Size(), nil
}

// events are what this state is made of. What is finished comes first: what follows may be answered from it.
func (b *Box) events(yield func(event) bool) {
	for _, id := range b.finished {
		k := b.tasks[id]
		if k != nil && !yield(event{Op: "finished", Task: &k.task, Hash: k.hash[:]}) {
			return
		}
	}
	for _, key := range b.cached {
		r := b.cache[key]
		if !yield(event{Op: "cached", ID: key, Result: &r}) {
			return
		}
	}
	for _, k := range b.order {
		if !yield(event{Op: "queued", Task: &k.task, Tries: k.tries}) || k.lease != nil && !yield(event{Op: "leased", ID: k.task.ID, Lease: k.lease}) {
			return
		}
	}
	for _, sender := range slices.Sorted(maps.Keys(b.ready)) {
		for _, r := range b.ready[sender] {
			if !yield(event{Op: "waiting", ID: sender, Result: &r}) {
				return
			}
		}
	}
}
