package oplog

// Event stores what a tool did, raw. Its summary is a Remember of the same entry; the two know each other by the
// memory's id. An event is stored once for a workspace, session and content: a second is rejected with ErrEventKnown,
// and the rest of its entry with it.
type Event struct {
	Workspace string      `msgpack:"w"` // the namespace of its summaries
	Session   string      `msgpack:"s"`
	Tool      string      `msgpack:"t"`
	Source    string      `msgpack:"o,omitempty"`
	Hash      []byte      `msgpack:"h"`                         // SHA-256 of the content, redacted
	Payload   []byte      `msgpack:"p,omitempty" max:"capture"` // JSON, redacted
	Packed    bool        `msgpack:"z,omitempty"`               // Payload is a zstd frame
	Tokens    uint64      `msgpack:"k,omitempty"`               // estimate
	Dir       string      `msgpack:"d,omitempty"`               // of the workspace, on the node that took the event
	At        Time        `msgpack:"a"`                         // when it happened
	Status    EventStatus `msgpack:"x,omitempty"`               // EventRaw without a summary, EventSummarized with one
	Summary   string      `msgpack:"r,omitempty" subject:""`    // rid
}

// EventMark moves events to another status; with a summary when that is a Remember of the same entry.
type EventMark struct {
	ID      EventID     `msgpack:"i"`
	Status  EventStatus `msgpack:"x"`
	Summary string      `msgpack:"r,omitempty" subject:""`
}

// EventID numbers the events of one database densely, from 1, in the order they were applied.
type EventID uint64

// EventStatus says how far an event has come.
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

// ErrEventKnown rejects an event that is there already.
var ErrEventKnown = &Error{Kind: Conflict, Text: "event is there already"}

// ErrNoEvent rejects a mark on an event that is not there.
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

// An EventSession holds what is known of a session of a workspace. The first event decides where and when it began.
type EventSession struct {
	ID      string `msgpack:"i"`
	Started Time   `msgpack:"s"`
	Dir     string `msgpack:"d,omitempty"`
	Events  uint64 `msgpack:"e"`
}
