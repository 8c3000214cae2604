package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
)

// eventTypes are the types of the events of log entries.
var eventTypes = map[oplog.OpKind]string{
	oplog.KindOf[oplog.Remember](): "stored", oplog.KindOf[oplog.Correct](): "corrected",
	oplog.KindOf[oplog.Forget](): "forgotten", oplog.KindOf[oplog.Sweep](): "forgotten",
	oplog.KindOf[oplog.Relate](): "related", oplog.KindOf[oplog.Unrelate](): "unrelated",
	oplog.KindOf[oplog.Claim](): "claimed", oplog.KindOf[oplog.Assert](): "claimed",
	oplog.KindOf[oplog.SessionStart](): "session_started", oplog.KindOf[oplog.SessionEnd](): "session_ended",
	oplog.KindOf[oplog.Cognition](): "thought", oplog.KindOf[oplog.Resolve](): "resolved",
	oplog.KindOf[oplog.TriggerMove](): "trigger_moved", oplog.KindOf[oplog.Purge](): "purged",
}

func (s *Service) position() json.RawMessage {
	b, _ := json.Marshal(map[string]oplog.Index{"index": s.commit.Indexed()}) // a map of numbers always encodes
	return b
}

// eventStream sends the events of one subscription in the subscriber's protocol. A subscriber that is too slow for
// the feed continues from the log. It misses only events that the log no longer has, and gets a "lagged" event then.
type eventStream struct {
	s     *Service
	c     api.Caller
	only  []string       // event types; empty or "*" for all
	match *filter.Filter // of the memories that events are about; nil for all events
	below string         // a key: of the memories that events are about, which have it or one below it; blank for all events
	out   func(api.Event) error
	sub   *commit.Subscription

	leader uint32      // the leader that was reported last
	sent   oplog.Index // everything up to here was sent, or does not match
}

// events subscribes at once, so that it misses no event after the call.
func (s *Service) events(_ context.Context, c api.Caller, q *api.EventsRequest) (*api.Subscription, error) {
	for _, name := range q.Types {
		if !slices.Contains(api.EventTypes, name) {
			return nil, oplog.Errorf(oplog.Invalid, "type: %s is not an event type; want some of %s", api.Quoted(name),
				strings.Join(api.EventTypes, ", "))
		}
	}
	match, err := parseFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	p := &eventStream{s: s, c: c, only: q.Types, match: match, below: folderOf(q.Prefix), sub: s.commit.Subscribe()}
	p.leader, _, _ = s.raft.Leader() // subscribers hear of changes
	p.sent = s.commit.Indexed()
	return &api.Subscription{Begins: s.position(), Close: p.close, Follow: func(ctx context.Context, tell func(api.Event) error) error {
		defer p.close()
		p.out = tell
		return p.run(ctx, oplog.Index(q.From))
	}}, nil
}

func (p *eventStream) close() { p.sub.Close() }

// checkToken returns an error if the token was revoked or has expired.
func (p *eventStream) checkToken() error {
	if !p.s.access.Holds(p.c) {
		return access.ErrToken
	}
	p.s.access.Used(p.c.Token)
	return nil
}

// keepAliveInterval is the interval of keep-alives on a quiet subscription.
const keepAliveInterval = 15 * time.Second

// run sends the events in the log after the cursor, if it is not 0, and then new events, until ctx ends.
func (p *eventStream) run(ctx context.Context, cursor oplog.Index) error {
	if cursor > 0 {
		beyond, err := p.pastEnd(ctx, cursor)
		if err != nil {
			return err
		}
		if p.sent = cursor; beyond {
			cursor = p.s.commit.Indexed()
			p.sent = cursor
		}
		if err := p.replay(ctx, cursor); err != nil {
			return err
		}
	}
	beats := time.NewTicker(keepAliveInterval)
	defer beats.Stop()
	for {
		changed := p.s.raft.Changed()
		if err := p.sendLeader(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-beats.C:
			if err := p.checkToken(); err != nil { // a token may have expired
				return err
			}
			if err := p.out(api.Event{}); err != nil {
				return err
			}
		case batch, ok := <-p.sub.C:
			if err := p.onBatch(ctx, p.sub.Take(batch), ok); err != nil {
				return err
			}
		}
	}
}

func (p *eventStream) onBatch(ctx context.Context, batch []oplog.Outcome, open bool) error {
	if !open { // it has lost its place: subscribe again, then read what was missed
		p.sub = p.s.commit.Subscribe()
		return p.replay(ctx, p.sent)
	}
	if slices.ContainsFunc(batch, access.EndsTokens) {
		if err := p.checkToken(); err != nil {
			return err
		}
	}
	var told []api.Event
	if err := p.s.state.Inspect(func(v *state.View) {
		for _, o := range batch {
			if o.Index > p.sent { // the replay had the others
				told = p.appendEvents(v, told, o)
			}
		}
	}); err != nil {
		return err
	}
	p.sent = max(p.sent, batch[len(batch)-1].Index)
	return p.send(told)
}

// replayPage limits the events made from one view of the log.
const replayPage = 512

// replay sends the events in the log after a cursor that this node can find; the feed has the rest.
func (p *eventStream) replay(ctx context.Context, cursor oplog.Index) error {
	end := p.s.commit.Indexed()
	for cursor < end && ctx.Err() == nil {
		var page []api.Event
		var lost oplog.Index
		at := end
		err := p.s.state.Read(func(v *state.View) error {
			if _, trimmed := v.TrimmedIn(p.c.DB); trimmed {
				if _, _, _, ok := v.Retained(); !ok {
					lost = end // all of the window has gone
				} else if first := v.LogStart(p.c.DB); first > cursor+1 {
					lost = first
				}
			}
			seen := cursor
			return v.Log(cursor+1, func(o oplog.Outcome) bool {
				if o.Index > end {
					return false
				}
				if o.Index != seen && len(page) >= replayPage { // a page ends between records
					at = seen
					return false
				}
				seen = o.Index
				page = p.appendEvents(v, page, o)
				return true
			})
		})
		if errors.Is(err, state.ErrTrimmed) { // meanwhile: the next view says where the log begins
			continue
		}
		if err != nil {
			return err
		}
		if lost > 0 && p.sent < lost {
			if err := p.out(api.Event{Name: "lagged", Data: p.s.position()}); err != nil {
				return err
			}
		}
		if err := p.send(page); err != nil {
			return err
		}
		cursor = at
		p.sent = cursor
	}
	return nil
}

// includes reports whether the subscription includes an event.
func (p *eventStream) includes(name string) bool {
	return len(p.only) == 0 || slices.Contains(p.only, name) || slices.Contains(p.only, "*")
}

// passes reports whether an event is about something in the subscriber's namespaces, and about a memory that passes
// its filter and lies below its key.
func (p *eventStream) passes(v *state.View, n occurrence) bool {
	if p.c.Spaces.Bind() && !p.inNamespaces(v, n) {
		return false
	}
	if !p.filtersMemories() {
		return true
	}
	m, ok := eventMemory(v, p.c.DB, n.id)
	return ok && m.Passes(p.match) && (p.below == "" || m.Path == p.below || strings.HasPrefix(m.Path, p.below+"/"))
}

// filtersMemories reports whether the subscriber wants only events about some memories.
func (p *eventStream) filtersMemories() bool { return p.match != nil || p.below != "" }

// inNamespaces reports whether what an event is about is in the namespaces that the subscriber is bound to. What is
// of several, or of none, is not: a relation, a round of cognition, a purge, a memory that was erased since.
func (p *eventStream) inNamespaces(v *state.View, n occurrence) bool {
	r := p.c.Reach("")
	switch n.name {
	case "stored", "corrected", "forgotten", "consolidated":
		m, ok := eventMemory(v, p.c.DB, n.id)
		return ok && r.Has(m.Namespace)
	case "claimed":
		c, ok := v.Claim(p.c.DB, n.id)
		return ok && r.Has(c.Namespace)
	case "session_started", "session_ended":
		x, ok := v.Session(p.c.DB, n.id)
		return ok && r.Has(x.Namespace)
	case "conflict", "resolved":
		x, ok := v.Conflict(p.c.DB, n.id)
		return ok && v.ConflictWithin(p.c.DB, r, &x)
	case "trigger", "trigger_moved":
		x, ok := v.Trigger(p.c.DB, n.id)
		return ok && v.Within(p.c.DB, r, x.Sources)
	}
	return false
}

// eventMemory finds the memory that an event is about, also one that has expired, which no other reader finds by its
// id.
func eventMemory(v *state.View, db oplog.DB, rid string) (*oplog.Memory, bool) {
	seq, _ := v.Seq(db, rid)
	return v.MemoryAt(db, seq)
}

// appendEvents appends the events of an entry for the subscriber.
func (p *eventStream) appendEvents(v *state.View, told []api.Event, o oplog.Outcome) []api.Event {
	if o.Entry.DB != p.c.DB {
		return told
	}
	for _, n := range occurrences(v, &o) {
		if !p.includes(n.name) || !p.passes(v, n) {
			continue
		}
		b, err := json.Marshal(api.Change{Index: o.Index, Number: o.Number, ID: n.id, At: o.HLC.Time().Seconds()})
		if err != nil {
			continue // a time no JSON can hold
		}
		told = append(told, api.Event{Name: n.name, Index: o.Index, Data: b})
	}
	return told
}

// send emits events. Only the last of a record carries the record's index: a subscriber that resumes behind it has had
// all events before it.
func (p *eventStream) send(told []api.Event) error {
	for i, e := range told {
		if i+1 < len(told) && told[i+1].Index == e.Index {
			e.Index = 0
		}
		if err := p.out(e); err != nil {
			return err
		}
	}
	return nil
}

// sendLeader is the event "leader": the node that leads now, 0 while none does.
func (p *eventStream) sendLeader() error {
	id, _, _ := p.s.raft.Leader()
	if p.filtersMemories() || p.c.Spaces.Bind() || !p.includes("leader") || id == p.leader {
		return nil
	}
	p.leader = id
	b, err := json.Marshal(map[string]uint64{"leader": uint64(id), "term": p.s.raft.Term(), "index": uint64(p.s.commit.Indexed())})
	if err != nil {
		return err
	}
	return p.out(api.Event{Name: "leader", Data: b})
}
