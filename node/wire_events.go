package node

import (
	"context"
	"encoding/json"
	"slices"
	"time"

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
		p := pusher{s: ss.w.s, db: c.DB, only: m.Events, emit: func(name string, _ oplog.Index, data []byte) error {
			return ss.reply(f, wire.OpEvent, &wire.Event{EventType: name, Data: data})
		}}
		if err := p.run(ctx, sub, oplog.Index(m.Cursor)); err != nil {
			ss.end()
		}
	})
	return ss.reply(f, wire.OpEvent, &wire.Event{EventType: "subscribed", Data: ss.w.s.position()})
}

func (s *Service) position() []byte {
	b, _ := json.Marshal(map[string]oplog.Index{"index": s.machine.indexed.get()}) // a map of numbers always encodes
	return b
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

// pusher sends one subscription's events, over whatever its subscriber speaks.
type pusher struct {
	s    *Service
	db   oplog.DB
	only []string // event types; empty or "*" for all
	emit func(name string, at oplog.Index, data []byte) error
	beat func() error // now and then, when nothing happens; nil for never
	sent oplog.Index
}

// beatEvery is how often a quiet subscription shows that it lives.
const beatEvery = 15 * time.Second

func (p *pusher) run(ctx context.Context, sub *subscription, cursor oplog.Index) error {
	if cursor > 0 {
		if err := p.replay(cursor); err != nil {
			return err
		}
	}
	var beats <-chan time.Time
	if p.beat != nil {
		t := time.NewTicker(beatEvery)
		defer t.Stop()
		beats = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beats:
			if err := p.beat(); err != nil {
				return err
			}
		case o, ok := <-sub.C:
			if !ok {
				if sub.fellBehind() {
					return p.emit("lagged", 0, p.s.position())
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
		if err := p.s.state.Read(func(v *oplog.View) error {
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
		if err := p.emit(kind, o.Index, b); err != nil {
			return err
		}
	}
	return nil
}
