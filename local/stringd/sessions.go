package stringd

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/node/api"
)

// session is one topic of one agent, with its queue. Invariant: waiting is empty unless busy is set.
type session struct {
	id    key
	state *state.Session

	mu      sync.Mutex
	busy    bool
	closed  bool
	waiting []waiter // first come, first served
}

// key identifies a session.
type key struct{ agent, topic string }

// waiter is a command in the queue. It receives one value: true if it may run, false if the session was closed.
type waiter chan bool

// The reasons why a command cannot run.
var (
	errQueueFull     = errors.New("queue full")
	errQueueTimeout  = errors.New("waited too long")
	errClientGone    = errors.New("client gone")
	errSessionClosed = errors.New("session closed")
)

// acquire waits until the caller may run a command in the session. The caller then calls release. At most size
// callers may wait, each for the time wait.
func (x *session) acquire(ctx context.Context, size int, wait time.Duration) error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return errSessionClosed
	}
	if !x.busy {
		x.busy = true
		x.mu.Unlock()
		return nil
	}
	if len(x.waiting) >= size {
		x.mu.Unlock()
		return errQueueFull
	}
	turn := make(waiter, 1)
	x.waiting = append(x.waiting, turn)
	x.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var reason error
	select {
	case granted := <-turn:
		if !granted {
			return errSessionClosed
		}
		if ctx.Err() != nil { // the client is gone, so the command must not run
			x.release()
			return errClientGone
		}
		return nil
	case <-timer.C:
		reason = errQueueTimeout
	case <-ctx.Done():
		reason = errClientGone
	}
	x.mu.Lock()
	if i := slices.Index(x.waiting, turn); i >= 0 {
		x.waiting = slices.Delete(x.waiting, i, i+1)
		x.mu.Unlock()
		return reason
	}
	x.mu.Unlock()
	if <-turn { // the turn was granted meanwhile, so pass it on
		x.release()
	}
	return reason
}

// tryAcquire is like acquire, but does not wait. It returns false if the session is busy.
func (x *session) tryAcquire() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy || x.closed {
		return false
	}
	x.busy = true
	return true
}

// release lets the next waiter run, or makes the session idle.
func (x *session) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waiting) == 0 {
		x.busy = false
		return
	}
	x.waiting[0] <- true
	x.waiting = x.waiting[1:]
}

// close rejects the waiters and kills the shell. It does not wait for a running command.
func (x *session) close() {
	x.mu.Lock()
	x.closed = true
	waiting := x.waiting
	x.waiting = nil
	x.mu.Unlock()
	for _, w := range waiting {
		w <- false
	}
	x.state.Close()
}

func (x *session) status() (busy bool, queued int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.busy, len(x.waiting)
}

// sessions holds the live sessions.
type sessions struct {
	settings *state.Settings
	mu       sync.Mutex
	byKey    map[key]*session
	order    []*session // in order of creation
}

// maxSessions bounds the topics of an agent. Each has a history, variables and perhaps a shell.
const maxSessions = 1000

// getOrCreate returns the session of a topic and creates it if necessary. It fails if the agent has too many.
func (l *sessions) getOrCreate(agent string, t lang.Topic) (x *session, created bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{agent, t.Name}
	if x := l.byKey[k]; x != nil {
		return x, false, nil
	}
	if len(l.listLocked(agent)) >= maxSessions {
		return nil, false, httpErrorf(http.StatusTooManyRequests, "Agent %s has %d sessions. Delete some first.", agent, maxSessions)
	}
	x = &session{id: k, state: state.NewSession(l.settings, t)}
	l.byKey[k] = x
	l.order = append(l.order, x)
	return x, true, nil
}

// list returns the sessions of an agent, or all for "", in order of creation.
func (l *sessions) list(agent string) (out []*session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listLocked(agent)
}

// listLocked is like list, but its caller holds the lock.
func (l *sessions) listLocked(agent string) (out []*session) {
	for _, x := range l.order {
		if agent == "" || x.id.agent == agent {
			out = append(out, x)
		}
	}
	return out
}

// remove removes the matching sessions and closes them.
func (l *sessions) remove(match func(*session) bool) int {
	l.mu.Lock()
	var removed []*session
	l.order = slices.DeleteFunc(l.order, func(x *session) bool {
		if !match(x) {
			return false
		}
		removed = append(removed, x)
		delete(l.byKey, x.id)
		return true
	})
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, x := range removed {
		wg.Go(x.close)
	}
	wg.Wait()
	return len(removed)
}

func (l *sessions) removeAgent(agent string) {
	l.remove(func(x *session) bool { return x.id.agent == agent })
}

func (l *sessions) closeAll() { l.remove(func(*session) bool { return true }) }

// Sessions implements state.Host.
func (s *Server) Sessions(agent string) []*state.Session {
	return api.Each(s.sessions.list(agent), func(x *session) *state.Session { return x.state })
}

// CloseSession implements state.Host.
func (s *Server) CloseSession(agent, topic string) bool {
	return s.sessions.remove(func(x *session) bool { return x.id == key{agent, topic} }) > 0
}

func (s *Server) listSessions(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	list := []kit.Object{}
	for _, x := range s.sessions.list(r.URL.Query().Get("agent_id")) {
		busy, queued := x.status()
		var doc, about kit.Object
		if m := x.state.Meta(); m != nil {
			doc = kit.Object{"uri", m.URI, "title", m.Title, "current_block", m.CurrentBlock}
			about = kit.Object{"uri", m.URI, "title", m.Title, "menus", m.Menus, "actions", m.Actions, "history_length", m.HistoryLength,
				"block_id", m.BlockID, "converted", m.Converted, "warnings", m.Warnings}
		}
		list = append(list,
			append(kit.Object{"agent_id", x.id.agent, "topic", x.state.Topic.Name, "topic_type", x.state.Topic.Type, "executing", busy,
				"queue_length", queued, "doc", doc, "created", true}, about...))
	}
	return kit.Object{"sessions", list}, nil
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) (kit.Object, error) {
	o, id, err := s.readAgentRequest(w, r)
	if err != nil {
		return nil, err
	}
	if _, ok := s.agents.get(id); !ok {
		return nil, httpErrorf(http.StatusUnauthorized, "Unknown agent: %s", id)
	}
	t, err := topicOf(o)
	if err != nil {
		return nil, err
	}
	_, created, err := s.sessions.getOrCreate(id, t)
	return kit.Object{"agent_id", id, "topic", t.Name, "topic_type", t.Type, "created", created}, err
}

// topicOf reads the topic of a request.
func topicOf(o serve.Members) (lang.Topic, error) {
	raw, isString := textField(o, "topic")
	if !isString && o["topic"] != nil {
		return lang.Topic{}, httpErrorf(http.StatusBadRequest, "Invalid topic: %s", o["topic"])
	}
	t, ok := lang.ParseTopic(raw)
	if !ok {
		return t, httpErrorf(http.StatusBadRequest, "Invalid topic: %s", raw)
	}
	return t, nil
}

func (s *Server) deleteSession(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	// Split the decoded path, so that an escaped slash separates agent and topic too.
	agent, raw, _ := strings.Cut(r.PathValue("session"), "/")
	if agent == "" || raw == "" {
		return nil, httpErrorf(http.StatusBadRequest, "Expected /sessions/:agent_id/:topic")
	}
	t, valid := lang.ParseTopic(raw)
	if !valid {
		return nil, httpErrorf(http.StatusBadRequest, "Invalid topic: %s", raw)
	}
	return kit.Object{"agent_id", agent, "topic", t.Name, "deleted", s.CloseSession(agent, t.Name)}, nil
}
