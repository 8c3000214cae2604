// Package inbox keeps the events of one agent as files below its home, one JSON object a file:
//
//	events/<id>.json  {"id","agentId","receivedAt","source":"local-webhook","text","status":"pending"|"ack","ackedAt"?}
//
// On a node that encrypts each file is sealed. An event is on disk, directory entry included, before Append returns.
// An inbox is full with Max events: those that were dealt with make room, the oldest first, and pending ones never.
// Files that are not events are passed over, and a file that should be one and cannot be read is logged once. It
// tells no stream of an event: stringd does, which opens one Inbox for an agent and calls it from any goroutine.
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

// An Event is a text that came through an agent's webhook.
type Event struct {
	ID         string `json:"id"`
	AgentID    string `json:"agentId"`
	ReceivedAt string `json:"receivedAt"`
	Source     string `json:"source"`
	Text       string `json:"text"`
	Status     string `json:"status"`
	AckedAt    string `json:"ackedAt,omitempty"`
}

// The statuses.
const (
	Pending = "pending"
	Acked   = "ack"
)

// Max is the number of events that one inbox holds.
const Max = 10_000

// Stamp is the form of times in files and answers.
const Stamp = "2006-01-02T15:04:05.000Z"

// ErrNotFound says that there is no such event.
var ErrNotFound = errors.New("event not found")

// ErrFull says that Max events are pending.
var ErrFull = errors.New("inbox full")

var eventID = regexp.MustCompile(`^evt_[a-z0-9]+_[A-Za-z0-9_-]+$`)

// Inbox is one agent's. Its methods may be called from any goroutine.
type Inbox struct {
	agent string
	dir   string
	keys  *seal.Ring // what files are sealed with; nil: they are not
	log   *slog.Logger
	told  sync.Map // ids of events that cannot be read, which the log has

	mu   sync.Mutex // one change at a time
	last int64      // milliseconds of the newest id given out: ids sort as they came
	held int        // number of events, or more; 0: to be counted
	full time.Time  // when the directory had last changed as Max pending events were found in it; zero: unknown
}

// New is the inbox of an agent below its home.
func New(agent, home string, keys *seal.Ring, log *slog.Logger) *Inbox {
	return &Inbox{agent: agent, keys: keys, dir: filepath.Join(home, "events"), log: log}
}

// Append stores a text, then runs after, still before any later event.
func (b *Inbox) Append(text string, after func(Event)) (Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now().UTC()
	b.last = max(b.last+1, now.UnixMilli())
	var raw [5]byte
	rand.Read(raw[:]) // never fails
	e := Event{
		ID:      "evt_" + strconv.FormatInt(b.last, 36) + "_" + base64.RawURLEncoding.EncodeToString(raw[:]),
		AgentID: b.agent, ReceivedAt: now.Format(Stamp), Source: "local-webhook",
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
	b.held++
	after(e)
	return e, nil
}

// makeRoom removes events that were dealt with from a full inbox, a tenth of it at once. It lists an inbox that is full
// of pending events again only after its directory changed: senders go on while an agent is away.
func (b *Inbox) makeRoom() error {
	if b.held > 0 && b.held < Max {
		return nil
	}
	dir, err := os.Stat(b.dir)
	if err != nil {
		return err
	}
	if dir.ModTime().Equal(b.full) {
		return ErrFull
	}
	ids, err := b.ids()
	if err != nil {
		return err
	}
	if b.held = len(ids); b.held < Max {
		return nil
	}
	for _, id := range ids {
		if b.held <= Max-Max/10 {
			break
		}
		if e, err := b.read(id); err == nil && e.Status == Acked {
			if err := os.Remove(b.path(id)); err != nil {
				return err
			}
			b.held--
		}
	}
	if b.held >= Max {
		b.full = dir.ModTime()
		return ErrFull
	}
	return nil
}

func (b *Inbox) path(id string) string { return filepath.Join(b.dir, id+".json") }

// ids are the events that the directory has files of, in the order that they came.
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
	if errors.Is(err, errUnread) {
		err = ErrNotFound
	}
	return e, err
}

// errUnread says that a file holds no event.
var errUnread = errors.New("event cannot be read")

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
		return Event{}, errUnread
	}
	return e, nil
}

// List gives events, newest first: the pending ones, or all.
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
		case err != nil && !errors.Is(err, ErrNotFound): // which says that it was removed just now
			if _, told := b.told.LoadOrStore(id, true); !told {
				b.log.Warn("an event cannot be read and is passed over", "agent", b.agent, "event", id, "err", err)
			}
		}
	}
	slices.SortFunc(out, func(x, y Event) int {
		return cmp.Or(cmp.Compare(y.ReceivedAt, x.ReceivedAt), cmp.Compare(y.ID, x.ID))
	})
	return out, nil
}

// Ack marks an event as dealt with; once more changes nothing.
func (b *Inbox) Ack(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, err := b.Get(id)
	if err != nil || e.Status == Acked {
		return err
	}
	e.Status, e.AckedAt, b.full = Acked, time.Now().UTC().Format(Stamp), time.Time{}
	return b.write(e)
}

// Clear removes the events that were dealt with, or all, and says how many.
func (b *Inbox) Clear(all bool) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events, err := b.List(true)
	if err != nil {
		return 0, err
	}
	b.held, b.full = 0, time.Time{}
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
