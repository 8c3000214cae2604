package oplog

import (
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Event stores what a tool did, raw. Its summary is a Remember of the same entry; the two know each other by the
// memory's id. An event is stored once for a workspace, session and content: a second is refused with ErrEventKnown, and
// so is what came with it.
type Event struct {
	Workspace string      `msgpack:"w"` // the namespace of its summaries
	Session   string      `msgpack:"s"`
	Tool      string      `msgpack:"t"`
	Source    string      `msgpack:"o,omitempty"`
	Hash      []byte      `msgpack:"h"`           // SHA-256 of the content, redacted
	Payload   []byte      `msgpack:"p,omitempty"` // JSON, redacted
	Packed    bool        `msgpack:"z,omitempty"` // Payload is a zstd frame
	Tokens    uint64      `msgpack:"k,omitempty"` // estimate
	Dir       string      `msgpack:"d,omitempty"` // of the workspace, on the node that took the event
	At        Time        `msgpack:"a"`           // when it happened
	Status    EventStatus `msgpack:"x,omitempty"` // EventRaw without a summary, EventSummarized with one
	Summary   string      `msgpack:"r,omitempty"` // rid
}

// EventMark moves events to another status; with a summary when that is a Remember of the same entry.
type EventMark struct {
	ID      EventID     `msgpack:"i"`
	Status  EventStatus `msgpack:"x"`
	Summary string      `msgpack:"r,omitempty"`
}

// EventID numbers the events of one database densely, from 1, in the order they were applied.
type EventID uint64

// EventStatus is how far an event has come.
type EventStatus uint8

// The event statuses. Numbers are stored.
const (
	EventRaw        EventStatus = iota // waits for a summary
	EventSummarized                    // has one
	EventSkipped                       // will have none
)

func (s EventStatus) String() string {
	return [...]string{"raw", "summarized", "skipped"}[min(s, EventSkipped)]
}

// ErrEventKnown refuses an event that is there already.
var ErrEventKnown = &Error{Kind: Conflict, Text: "event is there already"}

// ErrNoEvent refuses a mark on an event that is not there.
var ErrNoEvent = &Error{Kind: NotFound, Text: "no such event"}

// A StoredEvent is an event as the state holds it.
type StoredEvent struct {
	ID EventID `msgpack:"id"`
	Event
}

// EventCounts are a workspace's counters. Raw, Summarized and Skipped add up to Events.
type EventCounts struct {
	Events     uint64 `msgpack:"e"`
	Raw        uint64 `msgpack:"r"`
	Summarized uint64 `msgpack:"s"`
	Skipped    uint64 `msgpack:"k"`
	Sessions   uint64 `msgpack:"n"`
}

// An EventSession is what is known of a session of a workspace. The first event decides where and when it began.
type EventSession struct {
	ID      string `msgpack:"i"`
	Started Time   `msgpack:"s"`
	Dir     string `msgpack:"d,omitempty"`
	Events  uint64 `msgpack:"e"`
}

var eventFamily = family{
	{KindEvent, "event", func() Op { return new(Event) }},
	{KindEventMark, "event_mark", func() Op { return new(EventMark) }},
}

// Kind implements Op.
func (*Event) Kind() OpKind { return KindEvent }

// Kind implements Op.
func (*EventMark) Kind() OpKind { return KindEventMark }

// EventPrefix begins the namespaces of events' summaries.
const EventPrefix = "sift/"

// eventWords are the words of an event that its summary leaves out, as its metadata names them.
func (m *Memory) eventWords() string {
	if !strings.HasPrefix(m.Namespace, EventPrefix) || len(m.Metadata) == 0 {
		return ""
	}
	var meta struct {
		Sift struct {
			Words string `json:"words"`
		} `json:"sift"`
	}
	_ = json.Unmarshal(m.Metadata, &meta) // what is no such metadata names no words
	return meta.Sift.Words
}

var keyLastEvent = []byte("last")

func (op *Event) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	switch {
	case op.Workspace == "" || op.Session == "" || op.Tool == "":
		return Result{}, Errorf(Invalid, "an event needs a workspace, a session and a tool")
	case len(op.Hash) == 0:
		return Result{}, Errorf(Invalid, "an event needs the hash of its content")
	case op.Status > EventSkipped || (op.Status == EventSummarized) != (op.Summary != ""):
		return Result{}, Errorf(Invalid, "an event's status says whether it has a summary")
	}
	known := eventKey(op.Workspace, op.Session, op.Hash)
	if a.get(tEventHash, a.db, known) != nil {
		return Result{}, ErrEventKnown
	}
	id := EventID(beUint64(a.get(tEventCount, a.db, keyLastEvent))) + 1
	a.put(tEventCount, a.db, keyLastEvent, be64(uint64(id)))
	write(a.txn, tEvent, a.db, be64(uint64(id)), &StoredEvent{ID: id, Event: *op})
	a.put(tEventHash, a.db, known, be64(uint64(id)))
	if op.Summary != "" {
		a.put(tEventSummary, a.db, []byte(op.Summary), be64(uint64(id)))
	}
	counts, _ := read[EventCounts](a.txn, tEventCount, a.db, joinKey("workspace", op.Workspace))
	session, old := read[EventSession](a.txn, tEventSession, a.db, joinKey(op.Workspace, op.Session))
	if !old {
		session = EventSession{ID: op.Session, Started: op.At, Dir: op.Dir}
		counts.Sessions++
	}
	session.Events++
	write(a.txn, tEventSession, a.db, joinKey(op.Workspace, op.Session), &session)
	counts.Events++
	*counts.of(op.Status)++
	write(a.txn, tEventCount, a.db, joinKey("workspace", op.Workspace), &counts)
	return Result{ID: hex.EncodeToString(op.Hash), Num: uint64(id), Changed: true}, nil
}

func (op *EventMark) apply(a *applying) (Result, *Error) {
	e, ok := read[StoredEvent](a.txn, tEvent, a.db, be64(uint64(op.ID)))
	switch {
	case !ok:
		return Result{}, ErrNoEvent
	case op.Status > EventSkipped || (op.Status == EventSummarized) != (op.Summary != ""):
		return Result{}, Errorf(Invalid, "an event's status says whether it has a summary")
	case e.Status == EventSummarized:
		return Result{}, Errorf(Conflict, "event %d has a summary", op.ID)
	}
	counts, _ := read[EventCounts](a.txn, tEventCount, a.db, joinKey("workspace", e.Workspace))
	*counts.of(e.Status)--
	*counts.of(op.Status)++
	write(a.txn, tEventCount, a.db, joinKey("workspace", e.Workspace), &counts)
	if op.Summary != "" {
		a.put(tEventSummary, a.db, []byte(op.Summary), be64(uint64(op.ID)))
	}
	changed := e.Status != op.Status
	e.Status, e.Summary = op.Status, op.Summary
	write(a.txn, tEvent, a.db, be64(uint64(op.ID)), &e)
	return Result{Num: uint64(op.ID), Changed: changed}, nil
}

func (c *EventCounts) of(s EventStatus) *uint64 {
	return [...]*uint64{&c.Raw, &c.Summarized, &c.Skipped}[s]
}

func eventKey(workspace, session string, hash []byte) []byte {
	return append(joinKey(workspace, session, ""), hash...)
}

// Event finds an event by its number.
func (v *View) Event(db DB, id EventID) (StoredEvent, bool) {
	return read[StoredEvent](v.txn, tEvent, db, be64(uint64(id)))
}

// EventWith finds an event by its content; 0 for none.
func (v *View) EventWith(db DB, workspace, session string, hash []byte) EventID {
	return EventID(beUint64(v.get(tEventHash, db, eventKey(workspace, session, hash))))
}

// EventOf finds the event that a memory is the summary of; 0 for none.
func (v *View) EventOf(db DB, rid string) EventID {
	return EventID(beUint64(v.get(tEventSummary, db, []byte(rid))))
}

// Events walks the events from a number on.
func (v *View) Events(db DB, from EventID, f func(*StoredEvent) bool) {
	v.scanFrom(tEvent, db, be64(uint64(from)), func(_, val []byte) bool {
		e := decode[StoredEvent](val)
		return f(&e)
	})
}

// EventCounts are a workspace's counters.
func (v *View) EventCounts(db DB, workspace string) EventCounts {
	c, _ := read[EventCounts](v.txn, tEventCount, db, joinKey("workspace", workspace))
	return c
}

// EventSession finds what is known of a session of a workspace.
func (v *View) EventSession(db DB, workspace, session string) (EventSession, bool) {
	return read[EventSession](v.txn, tEventSession, db, joinKey(workspace, session))
}

// NamespaceFrom walks the numbers of a namespace's records upwards from one on.
func (v *View) NamespaceFrom(db DB, namespace string, from Seq, f func(Seq) bool) {
	prefix := joinKey(namespace, "")
	v.scanFrom(tNamespace, db, nameKey(namespace, from), func(k, _ []byte) bool {
		return len(k) == len(prefix)+8 && string(k[:len(prefix)]) == string(prefix) && f(Seq(beUint64(k[len(prefix):])))
	})
}

// NamespaceBack is NamespaceFrom downwards, from the number below; 0 means from the newest.
func (v *View) NamespaceBack(db DB, namespace string, below Seq, f func(Seq) bool) {
	prefix := joinKey(namespace, "")
	v.scanBelow(tNamespace, db, prefix, belowSeq(below), func(k, _ []byte) bool {
		return len(k) == len(prefix)+8 && f(Seq(beUint64(k[len(prefix):])))
	})
}

// belowSeq is where a backward walk begins; nil is at the newest.
func belowSeq(below Seq) []byte {
	if below == 0 {
		return nil
	}
	return seqKey(below)
}

// MemoriesBack walks the records downwards from the number below; 0 means from the newest.
func (v *View) MemoriesBack(db DB, below Seq, f func(*Memory) bool) {
	v.scanBelow(tMemory, db, nil, belowSeq(below), func(_, val []byte) bool {
		m := decode[Memory](val)
		return f(&m)
	})
}
