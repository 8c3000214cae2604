package wireport

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// subscribe sends EVENT frames on the stream of the request until UNSUBSCRIBE or the end of the connection.
func (ss *session) subscribe(ctx context.Context, c api.Caller, f wire.Frame) error {
	var m wire.Subscribe
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	if ss.tooManySubscriptions(f.Stream) {
		return ss.fail(f, overloaded)
	}
	sub, err := api.Events.Do(ctx, ss.w.cfg.Door, c,
		&api.EventsRequest{From: m.Cursor, Types: m.Events, Filter: field.Map(m.Filter), Prefix: m.Prefix})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	ss.mu.Lock()
	old, known := ss.subs[f.Stream]
	ss.subs[f.Stream] = subscription{cancel, ended, m.Events}
	ss.mu.Unlock()
	if known {
		old.end()
	}
	if err := ss.reply(f, wire.OpEvent, &wire.Event{EventType: "subscribed", Data: wire.JSON(sub.Begins)}); err != nil {
		cancel()
		sub.Close()
		close(ended)
		return err
	}
	ss.tasks.Go(func() { // not earlier: the first event follows the answer
		defer close(ended)
		defer cancel()
		err := sub.Follow(ctx, func(e api.Event) error {
			if e.Name == "" {
				return nil
			}
			return ss.reply(f, wire.OpEvent, &wire.Event{EventType: e.Name, Data: wire.JSON(e.Data)})
		})
		if err != nil {
			ss.close()
		}
	})
	return nil
}

// tooManySubscriptions reports whether a new subscription on this stream would exceed the limit of the connection.
func (ss *session) tooManySubscriptions(stream uint32) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_, known := ss.subs[stream]
	return !known && len(ss.subs) >= subsPerConn
}

// subscription is a subscription of this connection.
type subscription struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when it sends nothing any more
	events []string
}

// end returns after the last event is sent, so that the answer to UNSUBSCRIBE follows it.
func (s subscription) end() {
	s.cancel()
	<-s.ended
}

// unsubscribe ends the subscription of its own stream. On another stream it ends those to the same events, or all if
// it names none.
func (ss *session) unsubscribe(_ context.Context, _ api.Caller, f wire.Frame) error {
	var m wire.Subscribe
	if err := ss.unpack(f, &m); err != nil {
		m.Events = nil // an empty payload names none
	}
	ss.mu.Lock()
	_, own := ss.subs[f.Stream]
	var over []subscription
	for stream, sub := range ss.subs {
		if own && stream == f.Stream || !own && (len(m.Events) == 0 || sameEvents(m.Events, sub.events)) {
			over = append(over, sub)
			delete(ss.subs, stream)
		}
	}
	ss.mu.Unlock()
	for _, sub := range over {
		sub.end()
	}
	at, err := json.Marshal(map[string]oplog.Index{"index": ss.w.cfg.Indexed()})
	if err != nil {
		return err
	}
	return ss.reply(f, wire.OpEvent, &wire.Event{EventType: "unsubscribed", Data: at})
}

func sameEvents(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
