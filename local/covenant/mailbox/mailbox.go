// Package mailbox carries tasks from one agent of this host to another, and results back.
//
//	queued --Lease--> in flight --Post--> result waiting --Take--> gone
//	   ^------Requeue------'
//
// Every change is a line of one file before it is a change in memory, and on disk before anyone is answered: a lease
// given outlives any crash. A lease never ends by itself: a worker that died holds its task until an operator acts
// (Requeue, which puts it back in its place). Deadlines are advice. Exactly one receiver gets a task.
//
// A final result of an idempotent task is kept under (sender, recipient, kind or intent, key), and answers a later
// task of the same kind at once. The newest 10,000 such results are kept, and the ids of the newest 100,000 finished
// tasks.
//
// The file is JSON lines, each of them sealed on a node that encrypts: {"at":ms,"op":…} with op one of queued,
// leased, requeued, posted, taken, and, in a file that was compacted, finished, waiting and cached, which stand for
// lines that are gone. It is read once, at Open, and written again when it is four times as long as it was when it
// was written last.
//
// It checks no capability and knows no connection: covenant does. A Box may be used by any number of goroutines; one
// process has its file.
package mailbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cairndb/cairn/local/covenant/journal"
	"github.com/cairndb/cairn/oplog/seal"
)

// A Task is work that one agent asks of another. Identities are their keys.
type Task struct {
	ID        string          `json:"id"`
	Sender    string          `json:"sender"`
	SenderID  json.RawMessage `json:"sender_id,omitempty"` // whole
	Recipient string          `json:"recipient"`
	Deadline  *uint64         `json:"deadline,omitempty"`
	Cache     string          `json:"cache,omitempty"` // kind or intent, and key, of an idempotent task
	Body      json.RawMessage `json:"body"`
}

// A Result answers a task.
type Result struct {
	Task  string          `json:"task"`
	Final bool            `json:"final"`
	Body  json.RawMessage `json:"body"`
}

// A Lease is a task that a worker has.
type Lease struct {
	ID      string          `json:"id"`
	To      json.RawMessage `json:"to"`
	At      uint64          `json:"at"`
	Attempt uint32          `json:"attempt"`
}

// An Entry is a task that waits or is worked on.
type Entry struct {
	Task
	Lease   *Lease // nil while queued
	Attempt uint32
}

// What a mailbox rejects.
var (
	ErrDuplicate = errors.New("duplicate task id")
	ErrUnknown   = errors.New("task was never dispatched")
	ErrFinal     = errors.New("task already has a final result")
	ErrNotLeased = errors.New("task is not currently leased")
)

// known is a task that the mailbox remembers.
type known struct {
	Entry
	hash  [32]byte // of the body
	final bool
	place uint64 // in the order in which tasks came
}

func byPlace(k *known, place uint64) int { return cmp.Compare(k.place, place) }

// Box is the mailbox. Its methods may be called from any goroutine.
type Box struct {
	mu     sync.Mutex // of all below; held while the file is written and synced, so no answer precedes its line
	file   *journal.Journal[event]
	due    int64               // the size at which the file is compacted
	tasks  map[string]*known   // all that are not finished, and the newest of those that are
	queue  map[string][]*known // recipient → queued tasks, oldest first
	order  []*known            // queued and leased, oldest first
	places uint64              // given so far
	ready  map[string][]Result // sender → results, oldest first
	cache  map[string]Result

	finished []string // ids, oldest first
	cached   []string // keys of cache, oldest first
}

// LinePlace is the place that a mailbox's lines are sealed for.
const LinePlace = "covenant mailbox"

// Open reads the file, and makes it when it is missing. A line torn by a crash at its end is cut off.
func Open(path string, keys *seal.Ring) (b *Box, err error) {
	b = &Box{due: minDue, tasks: map[string]*known{}, queue: map[string][]*known{}, ready: map[string][]Result{},
		cache: map[string]Result{}}
	b.file, err = journal.Replay(path, LinePlace, keys, func(e event) error {
		if !e.whole() {
			return fmt.Errorf("%q lacks what it is about", e.Op)
		}
		b.apply(e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mailbox: %w", err)
	}
	b.compact()
	return b, nil
}

func cacheKey(t Task) string {
	k, _ := json.Marshal([]string{t.Sender, t.Recipient, t.Cache})
	return string(k)
}

// Send queues a task; the same one again is taken once. answer makes a cached result's body fit the new task.
func (b *Box) Send(now uint64, t Task, answer func(cached json.RawMessage) (json.RawMessage, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.tasks[t.ID]; k != nil {
		if k.hash == sha256.Sum256(t.Body) {
			return nil
		}
		return ErrDuplicate
	}
	events := []event{{At: now, Op: "queued", Task: &t}}
	if r, ok := b.cache[cacheKey(t)]; ok && t.Cache != "" {
		body, err := answer(r.Body)
		if err != nil {
			return err
		}
		events = append(events, event{At: now, Op: "posted", Result: &Result{Task: t.ID, Final: true, Body: body}})
	}
	return b.commit(events...)
}

// Lease gives the oldest task that waits for a recipient, to it alone; nil when none waits.
func (b *Box) Lease(now uint64, recipient, leaseID string, to json.RawMessage) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue[recipient]
	if len(q) == 0 {
		return nil, nil
	}
	k := q[0]
	l := &Lease{ID: leaseID, To: to, At: now, Attempt: k.Attempt + 1}
	if err := b.commit(event{At: now, Op: "leased", ID: k.Task.ID, Lease: l}); err != nil {
		return nil, err
	}
	return k.Task.Body, nil
}

// Requeue takes a lease away: the task is the next its recipient gets.
func (b *Box) Requeue(now uint64, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.leased(id); err != nil {
		return err
	}
	return b.commit(event{At: now, Op: "requeued", ID: id})
}

// leased says why a task is not a worker's.
func (b *Box) leased(id string) error {
	k := b.tasks[id]
	switch {
	case k == nil:
		return ErrUnknown
	case k.final:
		return ErrFinal
	case k.Lease == nil:
		return ErrNotLeased
	}
	return nil
}

// Task finds a task that was sent.
func (b *Box) Task(id string) (Task, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.tasks[id]
	if k == nil {
		return Task{}, false
	}
	return k.Task, true
}

// Post takes a result for a task's sender.
func (b *Box) Post(now uint64, r Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.leased(r.Task); err != nil {
		return err
	}
	return b.commit(event{At: now, Op: "posted", Result: &r})
}

// Take gives the oldest result that waits for a sender, once; nil when none waits.
func (b *Box) Take(now uint64, sender string) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.ready[sender]
	if len(r) == 0 {
		return nil, nil
	}
	body := r[0].Body
	return body, b.commit(event{At: now, Op: "taken", ID: sender})
}

// Tasks lists the unfinished tasks that one identity sent or is to receive, in the order in which they came.
func (b *Box) Tasks(who string) (entries []Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.order {
		if k.Task.Sender == who || k.Task.Recipient == who {
			entries = append(entries, k.Entry)
		}
	}
	return entries
}

// Queue lists what one identity sent or is to receive: queued tasks in their order, then leased ones by the time of
// their lease and id; the wanted ones alone.
func (b *Box) Queue(who string, wanted func(Entry) bool) (entries []Entry) {
	var leased []Entry
	for _, e := range b.Tasks(who) {
		switch {
		case !wanted(e):
		case e.Lease == nil:
			entries = append(entries, e)
		default:
			leased = append(leased, e)
		}
	}
	slices.SortStableFunc(leased, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Lease.At, b.Lease.At), cmp.Compare(a.ID, b.ID))
	})
	return append(entries, leased...)
}

// Results returns the results that wait for a sender, oldest first, at most limit. They stay.
func (b *Box) Results(sender string, limit uint64) []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready, out := b.ready[sender], []json.RawMessage{}
	for _, r := range ready[:min(uint64(len(ready)), limit)] {
		out = append(out, r.Body)
	}
	return out
}

// Close lets go of the file.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.file.Close()
}
