package api

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Events tells what happens in a database as it happens.
var Events = row[EventsRequest, Subscription](Op{Name: "events", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/events",
	Media: "text/event-stream", Stream: true, Wire: wire.OpSubscribe,
	Does: "A stream of changes that stays open: ids, never a memory's text. The first event, subscribed, has the log position at which the stream begins. " +
		"When one write makes several events, only the last has an id line. To continue after that write, send the id as the header Last-Event-ID or as from. " +
		"After 15 seconds without an event, a line with only a colon is sent. The event lagged means that the log no longer holds events you missed, or that it ends before the position you named."})

// Message is one message of a conversation that is not its own operation, such as a model's first: it is counted as
// one.
var Message = row[Nothing, Nothing](Op{Name: "message", Bound: Free, Node: true, Does: "One message of a conversation.", Scope: Read})

type EventsRequest struct {
	From   field.Token `json:"from" code:"invalid_cursor" doc:"Begin after this log position: log_index of a write, index of a read, or 1 for all that the log still holds. 0: new events only. The header Last-Event-ID takes precedence."`
	Types  []string    `json:"type" doc:"Only events of these types: stored, corrected, forgotten, related, unrelated, claimed, session_started, session_ended, thought, consolidated, conflict, resolved, trigger, trigger_moved, purged, leader; * and none mean all. Every memory that changes is named, but for purged, which names none. A put on a key that has a memory is reported as corrected; a merge as consolidated, with the id of the new memory, and as corrected for each that went into it; one whose mark superseded_by ends as corrected."`
	Filter field.Map   `json:"filter" doc:"Only events about memories that pass this filter now, as in a recall."`
	Prefix string      `json:"prefix" doc:"Only events about memories whose key is this one or below it now, such as /prefs; a forgotten memory has its last key."`
}

// EventTypes are the events that a subscriber can ask for.
var EventTypes = []string{"stored", "corrected", "forgotten", "related", "unrelated", "claimed", "session_started",
	"session_ended", "thought", "consolidated", "conflict", "resolved", "trigger",
	"trigger_moved", "purged", "leader", "*"}

// A Change is the data of an event: ids, never text.
type Change struct {
	Index  oplog.Index `json:"index" doc:"Position in the log."`
	Number int         `json:"number" doc:"Number of the entry within the log record at this position."`
	ID     string      `json:"id" doc:"The id of what changed: of a memory; for related and unrelated of a relation; for claimed of a claim, and so on. Blank for thought and purged."`
	At     float64     `json:"at" is:"time" doc:"When, in Unix seconds."`
}

// A Subscription misses nothing from when it is made until it is closed.
type Subscription struct {
	Begins json.RawMessage `json:"-"` // where in the log it begins, as the event subscribed has it

	// Follow tells events until ctx ends or telling one fails, and closes the subscription.
	Follow func(ctx context.Context, tell func(Event) error) error `json:"-"`

	Close func() `json:"-"`
}

// An Event is told to subscribers. One without a name says only that the subscription lives.
type Event struct {
	Name  string
	Index oplog.Index // to resume behind; 0 while more of the same log record follows
	Data  json.RawMessage
}
