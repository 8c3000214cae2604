package api

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Events tells what happens in a database as it happens.
var Events = row[EventsRequest, Subscription](Op{Name: "events", Scope: Read, HTTP: "GET /v1/events", Media: "text/event-stream", Stream: true, Wire: wire.OpSubscribe,
	Does: "Changes as an event stream: ids, never a memory's text. Last-Event-ID, or from, resumes after a log index."})

// Message is one message of a conversation that is no operation of its own, such as a model's first: it is counted as
// one.
var Message = row[Nothing, Nothing](Op{Name: "message", Node: true, Does: "One message of a conversation.", Scope: Read})

type EventsRequest struct {
	From  field.Token `json:"from" code:"invalid_cursor" doc:"Begin with the events after this log index; 0 begins with the next event. The header Last-Event-ID takes precedence."`
	Types []string    `json:"type" doc:"Only events of these types, such as stored or forgotten; * and none mean all."`
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
