package node

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// eventTypes names what subscribers hear of.
var eventTypes = map[oplog.OpKind]string{
	oplog.KindRemember: "stored", oplog.KindCorrect: "corrected", oplog.KindForget: "forgotten",
	oplog.KindRelate: "related", oplog.KindUnrelate: "unrelated", oplog.KindClaim: "claimed",
	oplog.KindSessionStart: "session_started", oplog.KindSessionEnd: "session_ended",
}

// event is what a subscriber is told: ids, never content.
type event struct {
	Index  oplog.Index `json:"index"`
	Number int         `json:"number"`
	ID     string      `json:"id"`
	At     float64     `json:"at"`
}

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
	sub := ss.w.s.machine.feed.subscribe()
	ss.tasks.Go(func() {
		defer cancel()
		defer sub.close()
		p := pusher{ss: ss, f: f, db: c.DB, only: m.Events}
		if err := p.run(ctx, sub, oplog.Index(m.Cursor)); err != nil {
			ss.end()
		}
	})
	return ss.reply(f, wire.OpEvent, &wire.Event{EventType: "subscribed", Data: ss.position()})
}

func (ss *session) position() wire.JSON {
	b, _ := json.Marshal(map[string]oplog.Index{"index": ss.w.s.machine.indexed.get()}) // a map of numbers always encodes
	return b
}

func (ss *session) unsubscribe(_ context.Context, f wire.Frame) error {
	ss.mu.Lock()
	for stream, cancel := range ss.subs {
		cancel()
		delete(ss.subs, stream)
	}
	ss.mu.Unlock()
	return ss.reply(f, wire.OpEvent, &wire.Event{EventType: "unsubscribed", Data: ss.position()})
}

// pusher sends one subscription's events.
type pusher struct {
	ss   *session
	f    wire.Frame
	db   oplog.DB
	only []string // event types; empty or "*" for all
	sent oplog.Index
}

func (p *pusher) run(ctx context.Context, sub *subscription, cursor oplog.Index) error {
	if cursor > 0 {
		if err := p.replay(cursor); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case o, ok := <-sub.C:
			if !ok {
				if sub.fellBehind() {
					return p.ss.reply(p.f, wire.OpEvent, &wire.Event{EventType: "lagged", Data: p.ss.position()})
				}
				return nil
			}
			if o.Index <= p.sent {
				continue // the replay had it
			}
			if err := p.push(o); err != nil {
				return err
			}
		}
	}
}

// replayPage is how many entries are read from the log at one view.
const replayPage = 512

// replay sends what the log holds behind a cursor.
func (p *pusher) replay(cursor oplog.Index) error {
	for {
		var page []oplog.Outcome
		if err := p.ss.w.s.state.Read(func(v *oplog.View) error {
			return v.Log(cursor+1, func(o oplog.Outcome) bool {
				if len(page) >= replayPage && o.Index != page[len(page)-1].Index {
					return false // a page ends between records
				}
				page = append(page, o)
				return true
			})
		}); err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for _, o := range page {
			if err := p.push(o); err != nil {
				return err
			}
		}
		cursor = page[len(page)-1].Index
		p.sent = cursor
	}
}

func (p *pusher) push(o oplog.Outcome) error {
	if o.Err != nil || o.Replayed || o.Entry.DB != p.db {
		return nil
	}
	for _, op := range o.Entry.Ops {
		kind, ok := eventTypes[op.Kind()]
		if !ok || (len(p.only) > 0 && !slices.Contains(p.only, kind) && !slices.Contains(p.only, "*")) {
			continue
		}
		b, err := json.Marshal(event{Index: o.Index, Number: o.Number, ID: oplog.Subject(op), At: o.HLC.Time().Seconds()})
		if err != nil {
			return err
		}
		if err := p.ss.reply(p.f, wire.OpEvent, &wire.Event{EventType: kind, Data: b}); err != nil {
			return err
		}
	}
	return nil
}
