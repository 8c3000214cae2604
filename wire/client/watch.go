package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// callerError wraps an error that the caller's function returned. It ends a watch.
type callerError struct{ error }

// Changes yields the events of Watch, for a range loop. Unless the loop ends first, the last element has the error
// that ended the watch.
func (c *Client) Changes(ctx context.Context, m wire.Subscribe) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		err := c.Watch(ctx, m, func(e wire.Event) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if !errors.Is(err, errStopped) {
			yield(wire.Event{}, err)
		}
	}
}

// errStopped ends the watch after the loop has ended.
var errStopped = errors.New("the loop has ended")

// Watch calls each with the events of a database until ctx ends or each returns an error, which Watch returns. When
// the connection breaks it subscribes again after the last event, if necessary on another node, and delivers every
// event exactly once. An event contains ids and never a memory's text. With a Cursor the watch begins after that log
// position; with 0 it begins with the next event. An event "lagged" reports that the log no longer has all events
// since the cursor. Watch continues with those that are left, and the caller can read the rest with List. A
// rejection, such as of a token, ends the watch, unless it says when to retry.
func (c *Client) Watch(ctx context.Context, m wire.Subscribe, each func(wire.Event) error) error {
	last, told := m.Cursor, map[string]int{} // the record of the last events, and those of its events that were delivered
	for pause := firstPause; ; {
		again := maps.Clone(told) // delivered events that come again, unless they no longer pass the filter
		err := c.Subscribe(ctx, m, func(e wire.Event) error {
			pause = firstPause
			var at struct {
				Index field.Token `json:"index"`
			}
			if err := json.Unmarshal(e.Data, &at); err != nil || at.Index == 0 {
				return deliver(e, each)
			}
			switch {
			// their index is the node's position, which may be ahead of the events sent
			case e.EventType == "leader", e.EventType == "lagged":
				return deliver(e, each)
			case e.EventType == "subscribed":
				if m.Cursor != 0 {
					return nil
				}
				m.Cursor = at.Index // resume from here if the connection breaks
				return deliver(e, each)
			}
			event := e.EventType + string(e.Data)
			if at.Index != last {
				last, m.Cursor = at.Index, at.Index-1 // the record may contain more events
				clear(told)
			} else if again[event] > 0 {
				again[event]--
				return nil
			}
			told[event]++
			return deliver(e, each)
		})
		var own callerError
		var refused *Error
		switch {
		case errors.As(err, &own):
			return own.error
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrClosed):
			return err
		case errors.As(err, &refused) && refused.RetryAfter() > 0:
			pause = max(pause, refused.RetryAfter())
		case errors.As(err, &refused) && refused.Code != wire.CodeNoQuorum, wire.IsPayload(err):
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

func deliver(e wire.Event, each func(wire.Event) error) error {
	if err := each(e); err != nil {
		return callerError{err}
	}
	return nil
}
