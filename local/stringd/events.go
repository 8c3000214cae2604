package stringd

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/inbox"
	"github.com/cairndb/cairn/node/api"
)

// Limits of events and their streams.
const (
	maxEvent     = 64 << 10
	streamBuffer = 256 // events that may wait for a stream; at one more, the stream is ended
	maxStreams   = 64  // of one agent
)

// webhook stores a text in an agent's inbox, sends it to the agent's streams, and then answers.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) error {
	tooLarge := httpErrorf(http.StatusRequestEntityTooLarge, "Webhook body exceeds %d bytes", maxEvent)
	a, ok := s.agents.byToken(r.PathValue("token"))
	if !ok {
		_, _ = s.readBody(w, r, maxEvent, tooLarge) // read the body, so that the sender gets the answer
		return httpErrorf(http.StatusUnauthorized, "Unknown webhook token")
	}
	b, err := s.readBody(w, r, maxEvent, tooLarge)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return httpErrorf(http.StatusBadRequest, "Webhook body must be non-empty text")
	}
	if a, ok = s.agents.byToken(r.PathValue("token")); !ok { // the token was replaced meanwhile
		return httpErrorf(http.StatusUnauthorized, "Unknown webhook token")
	}
	e, err := s.Inbox(a.Agent).Append(string(b), func(e inbox.Event) { s.streams.publish(a.ID, e) })
	if errors.Is(err, inbox.ErrFull) {
		return httpErrorf(http.StatusTooManyRequests, "Agent %s has %d pending events: it has to acknowledge or clear some", a.ID, inbox.Max)
	}
	if err != nil {
		return err
	}
	reply(w, http.StatusAccepted, kit.Object{"ok", true, "agent_id", a.ID, "event_id", e.ID})
	return nil
}

// subscriber is one event stream and its queue of events.
type subscriber struct {
	agent   string
	events  chan inbox.Event // closed to end the stream
	tooSlow bool             // events overflowed; set before events is closed
}

// streams holds the open event streams.
type streams struct {
	mu          sync.Mutex
	subscribers []*subscriber
	closed      bool
}

// subscribe adds a stream. It returns nil if the agent has too many.
func (l *streams) subscribe(agent string) *subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &subscriber{agent: agent, events: make(chan inbox.Event, streamBuffer)}
	if l.closed {
		close(f.events)
		return f
	}
	n := 0
	for _, o := range l.subscribers {
		if o.agent == agent {
			n++
		}
	}
	if n >= maxStreams {
		return nil
	}
	l.subscribers = append(l.subscribers, f)
	return f
}

// remove ends the matching streams.
func (l *streams) remove(match func(*subscriber) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = slices.DeleteFunc(l.subscribers, func(f *subscriber) bool {
		ends := match(f)
		if ends {
			close(f.events)
		}
		return ends
	})
}

// publish sends an event to every stream of an agent. A stream that does not keep up is ended, so that the others do
// not wait for it.
func (l *streams) publish(agent string, e inbox.Event) {
	l.remove(func(f *subscriber) bool {
		if f.agent != agent {
			return false
		}
		select {
		case f.events <- e:
		default:
			f.tooSlow = true
		}
		return f.tooSlow
	})
}

func (l *streams) closeAll() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.remove(func(*subscriber) bool { return true })
}

// streamWriteTimeout bounds one write to a stream. A client that does not read is disconnected.
const streamWriteTimeout = 10 * time.Second

// droppedComment is the last line for a client that was too slow. It is a comment and not an event.
const droppedComment = ": ended: too many events behind; /events lists what is in the inbox\n\n"

// reportDropped logs and counts a stream that was ended because its client was too slow. The missed events are in the
// inbox.
func (s *Server) reportDropped(agent, client, why string) {
	s.Log.Warn("event stream ended by this side", "agent", agent, "client", client, "why", why)
	if _, err := api.LoseStream.Ask(s.Ctx, s.cfg.Memory, &api.Nothing{}); err != nil {
		s.Log.Debug("lost stream not counted", "err", err) // the node is closing
	}
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	a, err := s.requestAgent(r)
	if err != nil {
		return err
	}
	f := s.streams.subscribe(a.ID)
	if f == nil {
		return httpErrorf(http.StatusTooManyRequests, "Agent %s has %d event streams.", a.ID, maxStreams)
	}
	defer s.streams.remove(func(o *subscriber) bool { return o == f })
	if _, ok := s.agents.get(a.ID); !ok { // the agent was deleted meanwhile, so nothing would end the stream
		return httpErrorf(http.StatusUnauthorized, "Unknown agent: %s", a.ID)
	}
	put, done := startStream(w)
	defer done()
	send := func(b []byte) bool {
		err := put(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.reportDropped(a.ID, r.RemoteAddr, "it takes nothing")
		}
		return err == nil
	}
	if !send(event(nil, "ready", kit.Object{"agent_id", a.ID})) {
		return nil
	}
	ping := time.NewTicker(s.cfg.Ping)
	defer ping.Stop()
	for {
		var out []byte
		select {
		case e, ok := <-f.events:
			if !ok && f.tooSlow && send([]byte(droppedComment)) {
				s.reportDropped(a.ID, r.RemoteAddr, "it is too slow")
			}
			if !ok {
				return nil
			}
			out = event(nil, "event", e)
		case t := <-ping.C:
			out = event(nil, "ping", kit.Object{"t", t.UTC().Format(inbox.TimeFormat)})
		case <-r.Context().Done():
			return nil
		}
		if !send(out) {
			return nil
		}
	}
}
