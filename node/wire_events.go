package node

import (
	"context"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// subscribe answers with EVENT frames on the request's stream until UNSUBSCRIBE or the end of the connection.
func (ss *session) subscribe(ctx context.Context, f wire.Frame) error {
	var m wire.Subscribe
	if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
		return ss.failed(f, err)
	}
	c := ss.who()
	if !c.May(Read) {
		return ss.failed(f, oplog.Errorf(oplog.Denied, "token has no %s scope", Read))
	}
	ctx, cancel := context.WithCancel(ctx)
	ss.mu.Lock()
	if old := ss.subs[f.Stream]; old != nil {
		old()
	}
	ss.subs[f.Stream] = cancel
	ss.mu.Unlock()
	p := ss.w.s.pusher(c.DB, m.Events, func(name string, _ oplog.Index, data []byte) error {
		return ss.reply(f, wire.OpEvent, &wire.Event{EventType: name, Data: data})
	})
	ss.tasks.Go(func() {
		defer cancel()
		defer p.close()
		if err := p.run(ctx, oplog.Index(m.Cursor)); err != nil {
			ss.end()
		}
	})
	return ss.reply(f, wire.OpEvent, &wire.Event{EventType: "subscribed", Data: ss.w.s.position()})
}

func (ss *session) unsubscribe(_ context.Context, f wire.Frame) error {
	ss.mu.Lock()
	for stream, cancel := range ss.subs {
		cancel()
		delete(ss.subs, stream)
	}
	ss.mu.Unlock()
	return ss.reply(f, wire.OpEvent, &wire.Event{EventType: "unsubscribed", Data: ss.w.s.position()})
}
