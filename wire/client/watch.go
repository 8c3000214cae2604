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

// callerError is an error that the caller's function returned. It ends a watch.
type callerError struct{ error }

// Changes are the events that Watch hands over, for a loop. The last one comes with the error that ended the watch,
// unless the loop ended it.
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

// errStopped ends the watch of a loop that was left.
var errStopped = errors.New("the loop has ended")

// Watch hands over the events of a database until ctx ends or each returns an error, which it returns. When the
// connection breaks it subscribes again, on another node where it must, behind the last event: none is missed and
// none comes twice. An event names ids, never a memory's text. A Cursor begins behind that place in the log, 0 with
// the next event. An event "lagged" says that the log no longer holds all events behind the place to go on from:
// Watch goes on with the events that it still holds, and List has the rest. A rejection, such as that of a token,
// ends the watch, but one that says when to come again does not.
func (c *Client) Watch(ctx context.Context, m wire.Subscribe, each func(wire.Event) error) error {
	last, told := m.Cursor, map[string]int{} // the record that events came from last, and these
	for pause := firstPause; ; {
		again := maps.Clone(told) // they come again, but for those that pass the filter no more
		err := c.Subscribe(ctx, m, func(e wire.Event) error {
			pause = firstPause
			var at struct {
				Index field.Token `json:"index"`
			}
			if err := json.Unmarshal(e.Data, &at); err != nil || at.Index == 0 {
				return deliver(e, each)
			}
			switch {
			// their index says how far the node is, which may be ahead of the events that it has sent
			case e.EventType == "leader", e.EventType == "lagged":
				return deliver(e, each)
			case e.EventType == "subscribed":
				if m.Cursor != 0 {
					return nil
				}
				m.Cursor = at.Index // whenever the connection breaks from here on
				return deliver(e, each)
			}
			event := e.EventType + string(e.Data)
			if at.Index != last {
				last, m.Cursor = at.Index, at.Index-1 // the record may hold more
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
