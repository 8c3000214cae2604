// Package inbox keeps the events of one agent as files below its home, one JSON object a file:
//
//	events/<id>.json  {"id","agentId","receivedAt","source":"local-webhook","text","status":"pending"|"ack","ackedAt"?}
//
// On a node that encrypts, each file is sealed. An event is on disk, including its directory entry, before Append
// returns. An inbox holds Max events. A full inbox removes acknowledged events, the oldest first, but never pending
// ones. Files that are not events are ignored; an event file that cannot be read is logged once.
package inbox

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Event is a text that was sent to an agent's webhook.
type Event struct {
	ID         string `json:"id"`
	AgentID    string `json:"agentId"`
	ReceivedAt string `json:"receivedAt"`
	Source     string `json:"source"`
	Text       string `json:"text"`
	Status     string `json:"status"`
	AckedAt    string `json:"ackedAt,omitempty"`
}

// The statuses of an event.
const (
	Pending = "pending"
	Acked   = "ack"
)

// Max is the capacity of an inbox.
const Max = 10_000

// TimeFormat is the time format in files and answers.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// ErrNotFound reports that there is no such event.
var ErrNotFound = errors.New("event not found")

// ErrFull reports that Max events are pending.
var ErrFull = errors.New("inbox full")

var eventID = regexp.MustCompile(`^evt_[a-z0-9]+_[A-Za-z0-9_-]+$`)

// Inbox holds the events of one agent. It is safe for concurrent use.
type Inbox struct {
	agent    string
	dir      string
	keys     *seal.Ring // seals the files; nil: they are plain
	log      *slog.Logger
	reported sync.Map // ids of unreadable events that were logged

	mu     sync.Mutex // serializes changes
	last   int64      // milliseconds of the newest id, so that ids increase
	count  int        // upper bound of the number of events; 0: unknown
	fullAt time.Time  // modification time of the directory when it was found full of pending events; zero: unknown
}

// New returns the inbox of an agent, in its home.
func New(agent, home string, keys *seal.Ring, log *slog.Logger) *Inbox {
	return &Inbox{agent: agent, keys: keys, dir: filepath.Join(home, "events"), log: log}
}

// Append stores a text and then calls after, before any later event is stored.
func (b *Inbox) Append(text string, after func(Event)) (Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().UTC()
	b.last = max(b.last+1, now.UnixMilli())
	var raw [5]byte
	rand.Read(raw[:]) // never fails
	e := Event{
		ID:      "evt_" + strconv.FormatInt(b.last, 36) + "_" + base64.RawURLEncoding.EncodeToString(raw[:]),
		AgentID: b.agent, ReceivedAt: now.Format(TimeFormat), Source: "local-webhook",
		Text: strings.TrimRight(text, " \t\r\n"), Status: Pending,
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return Event{}, err
	}
	if err := b.makeRoom(); err != nil {
		return Event{}, err
	}
	if err := b.write(e); err != nil {
		return Event{}, err
	}
	b.count++
	after(e)
	return e, nil
}

// makeRoom removes acknowledged events from a full inbox, a tenth of it at once. If the inbox is full of pending
// events, it is not listed again until its directory changes.
func (b *Inbox) makeRoom() error {
	if b.count > 0 && b.count < Max {
		return nil
	}
	dir, err := os.Stat(b.dir)
	if err != nil {
		return err
	}
	if dir.ModTime().Equal(b.fullAt) {
		return ErrFull
	}
	ids, err := b.ids()
	if err != nil {
		return err
	}
	if b.count = len(ids); b.count < Max {
		return nil
	}
	for _, id := range ids {
		if b.count <= Max-Max/10 {
			break
		}
		if e, err := b.read(id); err == nil && e.Status == Acked {
			if err := os.Remove(b.path(id)); err != nil {
				return err
			}
			b.count--
		}
	}
	if b.count >= Max {
		b.fullAt = dir.ModTime()
		return ErrFull
	}
	return nil
}

func (b *Inbox) path(id string) string { return filepath.Join(b.dir, id+".json") }

// ids returns the ids of the event files, oldest first.
func (b *Inbox) ids() (ids []string, err error) {
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range entries {
		if id, ok := strings.CutSuffix(f.Name(), ".json"); ok && eventID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

func (b *Inbox) write(e Event) error {
	raw, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return syncwriter.Replace(b.path(e.ID), b.keys.Bytes(append(raw, '\n')), 0o600)
}

// Get reads an event.
func (b *Inbox) Get(id string) (Event, error) {
	if !eventID.MatchString(id) {
		return Event{}, ErrNotFound
	}
	e, err := b.read(id)
	if errors.Is(err, errUnreadable) {
		err = ErrNotFound
	}
	return e, err
}

// errUnreadable reports that a file holds no event.
var errUnreadable = errors.New("event cannot be read")

func (b *Inbox) read(id string) (e Event, err error) {
	raw, err := os.ReadFile(b.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return e, ErrNotFound
	}
	if err != nil {
		return e, err
	}
	raw, err = b.keys.Plain(raw)
	if err != nil || json.Unmarshal(raw, &e) != nil || e.ID != id {
		return Event{}, errUnreadable
	}
	return e, nil
}

// List returns the pending events, or all, newest first.
func (b *Inbox) List(all bool) ([]Event, error) {
	ids, err := b.ids()
	if err != nil {
		return nil, err
	}
	var out []Event
	for _, id := range ids {
		e, err := b.read(id)
		switch {
		case err == nil && (all || e.Status == Pending):
			out = append(out, e)
		case err != nil && !errors.Is(err, ErrNotFound): // an event that is not found was removed meanwhile
			if _, logged := b.reported.LoadOrStore(id, true); !logged {
				b.log.Warn("an event cannot be read and is passed over", "agent", b.agent, "event", id, "err", err)
			}
		}
	}
	slices.SortFunc(out, func(x, y Event) int {
		return cmp.Or(cmp.Compare(y.ReceivedAt, x.ReceivedAt), cmp.Compare(y.ID, x.ID))
	})
	return out, nil
}

// Ack acknowledges an event. Repeating it does nothing.
func (b *Inbox) Ack(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, err := b.Get(id)
	if err != nil || e.Status == Acked {
		return err
	}
	e.Status, e.AckedAt, b.fullAt = Acked, time.Now().UTC().Format(TimeFormat), time.Time{}
	return b.write(e)
}

// Clear removes the acknowledged events, or all, and returns their number.
func (b *Inbox) Clear(all bool) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, err := b.List(true)
	if err != nil {
		return 0, err
	}
	b.count, b.fullAt = 0, time.Time{}
	for _, e := range events {
		if all || e.Status == Acked {
			if err := os.Remove(b.path(e.ID)); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
