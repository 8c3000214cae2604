package api

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Events streams the changes of a database.
var Events = row[EventsRequest, Subscription](Op{Name: "events", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/events",
	Media: "text/event-stream", Stream: true, Wire: wire.OpSubscribe,
	Does: "A stream of changes that stays open: ids, never a memory's text. The first event, subscribed, has the log position at which the stream begins. " +
		"When one write makes several events, only the last has an id line. To continue after that write, send the id as the header Last-Event-ID or as from. " +
		"After 15 seconds without an event, a line with only a colon is sent. The event lagged means that the log no longer holds events you missed, or that it ends before the position you named."})

// Message is a message of a conversation that is no operation itself, such as a model's first. It counts as one
// operation.
var Message = row[Nothing, Nothing](Op{Name: "message", Bound: Free, Node: true, Does: "One message of a conversation.", Scope: Read})

type EventsRequest struct {
	From   field.Token `json:"from" code:"invalid_cursor" doc:"Begin after this log position: log_index of a write, index of a read, or 1 for all that the log still holds. 0: new events only. The header Last-Event-ID takes precedence."`
	Types  []string    `json:"type" doc:"Only events of these types: stored, corrected, forgotten, related, unrelated, claimed, session_started, session_ended, thought, consolidated, conflict, resolved, trigger, trigger_moved, purged, leader; * and none mean all. Every memory that changes is named, but for purged, which names none. A put on a key that has a memory is reported as corrected; a merge as consolidated, with the id of the new memory, and as corrected for each that went into it; one whose mark superseded_by ends as corrected."`
	Filter field.Map   `json:"filter" doc:"Only events about memories that pass this filter now, as in a recall."`
	Prefix string      `json:"prefix" doc:"Only events about memories whose key is this one or below it now, such as /prefs; a forgotten memory has its last key."`
}

// EventTypes lists the events that a subscriber can select.
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

// A Subscription misses no event from its creation until Close.
type Subscription struct {
	Begins json.RawMessage `json:"-"` // its first position in the log, in the form of the event "subscribed"

	// Follow passes events to a function until ctx ends or the function fails. Then it closes the subscription.
	Follow func(ctx context.Context, tell func(Event) error) error `json:"-"`

	Close func() `json:"-"`
}

// An Event is sent to subscribers. One without a name only shows that the subscription is alive.
type Event struct {
	Name  string
	Index oplog.Index // position after which to resume; 0 if more events of the same log record follow
	Data  json.RawMessage
}
