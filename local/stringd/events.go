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

// Bounds of events and their streams.
const (
	maxEvent     = 64 << 10
	streamBuffer = 256 // events a stream may be behind before it is dropped
	maxStreams   = 64  // of one agent
)

// webhook takes a text into an agent's inbox: on disk first, then to the streams, then the answer.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) error {
	tooLarge := refuse(http.StatusRequestEntityTooLarge, "Webhook body exceeds %d bytes", maxEvent)
	a, ok := s.agents.byToken(r.PathValue("token"))
	if !ok {
		_, _ = s.readBody(w, r, maxEvent, tooLarge) // so that the sender sees the answer
		return refuse(http.StatusUnauthorized, "Unknown webhook token")
	}
	b, err := s.readBody(w, r, maxEvent, tooLarge)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return refuse(http.StatusBadRequest, "Webhook body must be non-empty text")
	}
	if now, ok := s.agents.byToken(r.PathValue("token")); !ok || now.ID != a.ID { // rotated while the body came
		return refuse(http.StatusUnauthorized, "Unknown webhook token")
	}
	e, err := s.Inbox(a.Agent).Append(string(b), func(e inbox.Event) { s.streams.push(a.ID, e) })
	if errors.Is(err, inbox.ErrFull) {
		return refuse(http.StatusTooManyRequests, "Agent %s has %d pending events: it has to acknowledge or clear some", a.ID, inbox.Max)
	}
	if err != nil {
		return err
	}
	reply(w, http.StatusAccepted, kit.Object{"ok", true, "agent_id", a.ID, "event_id", e.ID})
	return nil
}

// feed queues the events for one stream.
type feed struct {
	agent  string
	events chan inbox.Event // closed when the stream is to end
	behind bool             // the client did not keep up; set before events is closed
}

// streams are the open event streams.
type streams struct {
	mu     sync.Mutex
	feeds  []*feed
	closed bool
}

// open adds a stream. None is added where there are many.
func (l *streams) open(agent string) *feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &feed{agent: agent, events: make(chan inbox.Event, streamBuffer)}
	if l.closed {
		close(f.events)
		return f
	}
	n := 0
	for _, o := range l.feeds {
		if o.agent == agent {
			n++
		}
	}
	if n >= maxStreams {
		return nil
	}
	l.feeds = append(l.feeds, f)
	return f
}

// end takes streams away.
func (l *streams) end(which func(*feed) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.feeds = slices.DeleteFunc(l.feeds, func(f *feed) bool {
		ends := which(f)
		if ends {
			close(f.events)
		}
		return ends
	})
}

// push gives every stream of an agent an event. One that does not keep up is ended: the others do not wait for it.
func (l *streams) push(agent string, e inbox.Event) {
	l.end(func(f *feed) bool {
		if f.agent != agent {
			return false
		}
		select {
		case f.events <- e:
		default:
			f.behind = true
		}
		return f.behind
	})
}

func (l *streams) closeAll() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end(func(*feed) bool { return true })
}

// streamWrite bounds one write to a stream: a client that does not read is dropped.
const streamWrite = 10 * time.Second

// lastLine is the last line for a client that was too slow. It is a comment, not an event.
const lastLine = ": ended: too many events behind; /events lists what is in the inbox\n\n"

// dropped says which stream was ended because its client does not keep up. What it missed is in the inbox.
func (s *Server) dropped(agent, client, why string) {
	s.Log.Warn("event stream ended by this side", "agent", agent, "client", client, "why", why)
	if _, err := api.LoseStream.Ask(s.Ctx, s.cfg.Memory, &api.Nothing{}); err != nil {
		s.Log.Debug("lost stream not counted", "err", err) // the node is closing
	}
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	a, err := s.known(r)
	if err != nil {
		return err
	}
	f := s.streams.open(a.ID)
	if f == nil {
		return refuse(http.StatusTooManyRequests, "Agent %s has %d event streams.", a.ID, maxStreams)
	}
	defer s.streams.end(func(o *feed) bool { return o == f })
	if _, ok := s.agents.get(a.ID); !ok { // deleted just now: the stream would never end
		return refuse(http.StatusUnauthorized, "Unknown agent: %s", a.ID)
	}
	put, done := startStream(w)
	defer done()
	send := func(b []byte) bool {
		err := put(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.dropped(a.ID, r.RemoteAddr, "it takes nothing")
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
			if !ok && f.behind && send([]byte(lastLine)) {
				s.dropped(a.ID, r.RemoteAddr, "it is too slow")
			}
			if !ok {
				return nil
			}
			out = event(nil, "event", e)
		case t := <-ping.C:
			out = event(nil, "ping", kit.Object{"t", t.UTC().Format(inbox.Stamp)})
		case <-r.Context().Done():
			return nil
		}
		if !send(out) {
			return nil
		}
	}
}
