// Package mailbox carries tasks from one agent of this host to another, and results back.
//
//	queued --Lease--> in flight --Post--> result waiting --Take--> gone
//	   ^------Requeue------'
//
// Every change is written to one file and synced before it is applied in memory and answered, so a lease survives a
// crash. A lease never expires: the task of a worker that died stays leased until the operator acts (Requeue, which
// puts it back into its position in the queue). Deadlines are not enforced. Exactly one receiver gets a task.
//
// A final result of an idempotent task is kept under (sender, recipient, kind or intent, key), and answers a later
// task of the same kind at once. The newest 10,000 such results are kept, and the ids of the newest 100,000 finished
// tasks.
//
// The file is JSON lines, each of them sealed on a node that encrypts: {"at":ms,"op":…} with op one of queued,
// leased, requeued, posted, taken. A compacted file also has finished, waiting and cached, which replace removed
// lines. The file is read at Open, and compacted when it is four times as large as after the last compaction.
//
// The package checks no capabilities; package verbs does. Only one process may open the file.
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

// Task is work that one agent requests from another. Sender and Recipient are public keys.
type Task struct {
	ID        string          `json:"id"`
	Sender    string          `json:"sender"`
	SenderID  json.RawMessage `json:"sender_id,omitempty"` // the full identity
	Recipient string          `json:"recipient"`
	Deadline  *uint64         `json:"deadline,omitempty"`
	Cache     string          `json:"cache,omitempty"` // identifies the work of an idempotent task: its kind or intent, and its key
	Body      json.RawMessage `json:"body"`
}

// A Result answers a task.
type Result struct {
	Task  string          `json:"task"`
	Final bool            `json:"final"`
	Body  json.RawMessage `json:"body"`
}

// Lease records that a worker has a task.
type Lease struct {
	ID      string          `json:"id"`
	To      json.RawMessage `json:"to"`
	At      uint64          `json:"at"`
	Attempt uint32          `json:"attempt"`
}

// Entry is an unfinished task.
type Entry struct {
	Task
	Lease   *Lease // nil while queued
	Attempt uint32
}

// The errors of a mailbox.
var (
	ErrDuplicate = errors.New("duplicate task id")
	ErrUnknown   = errors.New("task was never dispatched")
	ErrFinal     = errors.New("task already has a final result")
	ErrNotLeased = errors.New("task is not currently leased")
)

// taskState is a task that the mailbox remembers, finished or not.
type taskState struct {
	Entry
	hash     [32]byte // of the body
	finished bool
	seq      uint64 // order of arrival
}

func bySeq(k *taskState, place uint64) int { return cmp.Compare(k.seq, place) }

// Box is the mailbox. It is safe for concurrent use.
type Box struct {
	mu         sync.Mutex // guards the fields below; held while the file is written and synced
	file       *journal.Journal[event]
	compactAt  int64                   // the size at which the file is compacted
	tasks      map[string]*taskState   // the unfinished tasks, and the newest finished ones
	queue      map[string][]*taskState // recipient → queued tasks, oldest first
	unfinished []*taskState            // queued and leased, oldest first
	lastSeq    uint64                  // seq of the newest task
	results    map[string][]Result     // sender → results, oldest first
	cache      map[string]Result

	finished []string // ids, oldest first
	cached   []string // keys of cache, oldest first
}

// LinePlace is the associated data of the sealed lines of a mailbox.
const LinePlace = "covenant mailbox"

// Open opens or creates the file and replays it. It cuts off an incomplete last line.
func Open(path string, keys *seal.Ring) (b *Box, err error) {
	b = &Box{compactAt: minCompactSize, tasks: map[string]*taskState{}, queue: map[string][]*taskState{}, results: map[string][]Result{},
		cache: map[string]Result{}}
	b.file, err = journal.Replay(path, LinePlace, keys, func(e event) error {
		if !e.valid() {
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

// Send queues a task. Sending the same task again does nothing. answer adapts the body of a cached result to the new
// task.
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

// Lease leases the oldest queued task of a recipient and returns its body, or nil if there is none.
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

// Requeue ends a lease. The task returns to its position in the queue.
func (b *Box) Requeue(now uint64, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.checkLeased(id); err != nil {
		return err
	}
	return b.commit(event{At: now, Op: "requeued", ID: id})
}

// checkLeased returns an error if a task is not leased.
func (b *Box) checkLeased(id string) error {
	k := b.tasks[id]
	switch {
	case k == nil:
		return ErrUnknown
	case k.finished:
		return ErrFinal
	case k.Lease == nil:
		return ErrNotLeased
	}
	return nil
}

// Task returns a task that was sent.
func (b *Box) Task(id string) (Task, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.tasks[id]
	if k == nil {
		return Task{}, false
	}
	return k.Task, true
}

// Post stores a result for the sender of its task.
func (b *Box) Post(now uint64, r Result) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.checkLeased(r.Task); err != nil {
		return err
	}
	return b.commit(event{At: now, Op: "posted", Result: &r})
}

// Take removes the oldest result of a sender and returns its body, or nil if there is none.
func (b *Box) Take(now uint64, sender string) (json.RawMessage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.results[sender]
	if len(r) == 0 {
		return nil, nil
	}
	body := r[0].Body
	return body, b.commit(event{At: now, Op: "taken", ID: sender})
}

// Tasks lists the unfinished tasks that an agent sent or is to receive, in order of arrival.
func (b *Box) Tasks(agent string) (entries []Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.unfinished {
		if k.Task.Sender == agent || k.Task.Recipient == agent {
			entries = append(entries, k.Entry)
		}
	}
	return entries
}

// Queue lists the matching tasks that an agent sent or is to receive: first the queued ones in their order, then the
// leased ones by time and id.
func (b *Box) Queue(agent string, match func(Entry) bool) (entries []Entry) {
	var leased []Entry
	for _, e := range b.Tasks(agent) {
		switch {
		case !match(e):
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

// Results returns the results of a sender, oldest first, at most limit. It does not remove them.
func (b *Box) Results(sender string, limit uint64) []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	ready, out := b.results[sender], []json.RawMessage{}
	for _, r := range ready[:min(uint64(len(ready)), limit)] {
		out = append(out, r.Body)
	}
	return out
}

// Close closes the file.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.file.Close()
}
