// Package inbox keeps the events of one agent as files below its home, one JSON object a file:
//
//	events/<id>.json  {"id","agentId","receivedAt","source":"local-webhook","text","status":"pending"|"ack","ackedAt"?}
//
// On a node that encrypts each file is sealed. An event is on disk, directory entry included, before Append returns.
// Files that are not events are passed over. It tells no stream of an event: stringd does, which opens one Inbox for an
// agent and calls it from any goroutine.
package inbox

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/seal"
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

// Stamp is the form of times in files and answers.
const Stamp = "2006-01-02T15:04:05.000Z"

// ErrNotFound says that there is no such event.
var ErrNotFound = errors.New("event not found")

var eventID = regexp.MustCompile(`^evt_[a-z0-9]+_[A-Za-z0-9_-]+$`)

// Inbox is one agent's. Its methods may be called from any goroutine.
type Inbox struct {
	agent string
	dir   string
	keys  *seal.Ring // what files are sealed with; nil: they are not
	mu    sync.Mutex // one change at a time
	last  int64      // milliseconds of the newest id given out: ids sort as they came
}

// New is the inbox of an agent below its home.
func New(agent, home string, keys *seal.Ring) *Inbox {
	return &Inbox{agent: agent, keys: keys, dir: filepath.Join(home, "events")}
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
	if err := b.write(e); err != nil {
		return Event{}, err
	}
	after(e)
	return e, nil
}

func (b *Inbox) write(e Event) error {
	raw, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return kit.WriteFile(filepath.Join(b.dir, e.ID+".json"), b.keys.Bytes(append(raw, '\n')), 0o600)
}

// Get reads an event.
func (b *Inbox) Get(id string) (Event, error) {
	var e Event
	if !eventID.MatchString(id) {
		return e, ErrNotFound
	}
	raw, err := os.ReadFile(filepath.Join(b.dir, id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return e, ErrNotFound
	}
	if err != nil {
		return e, err
	}
	raw, err = b.keys.Plain(raw)
	if err != nil || json.Unmarshal(raw, &e) != nil || e.ID != id {
		return e, ErrNotFound
	}
	return e, nil
}

// List gives events, newest first: the pending ones, or all.
func (b *Inbox) List(all bool) ([]Event, error) {
	entries, err := os.ReadDir(b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Event
	for _, f := range entries {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		if e, err := b.Get(id); err == nil && (all || e.Status == Pending) {
			out = append(out, e)
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
	e.Status, e.AckedAt = Acked, time.Now().UTC().Format(Stamp)
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
	for _, e := range events {
		if all || e.Status == Acked {
			if err := os.Remove(filepath.Join(b.dir, e.ID+".json")); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}
