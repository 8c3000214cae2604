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

// A session is one topic of one agent with its queue. Invariant: waiting is empty unless busy.
type session struct {
	id  key
	run *state.Session

	mu      sync.Mutex
	busy    bool
	closed  bool
	waiting []waiter // first come, first served
}

// key names a session.
type key struct{ agent, topic string }

// A waiter is a command in the queue. It receives once: true when it may run, false when the session was closed.
type waiter chan bool

// Reasons for which a command gets no turn.
var (
	errFull    = errors.New("queue full")
	errWaited  = errors.New("waited too long")
	errGone    = errors.New("client gone")
	errDropped = errors.New("session closed")
)

// acquire waits for the session's turn. A caller that gets it must release it.
func (x *session) acquire(ctx context.Context, size int, wait time.Duration) error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return errDropped
	}
	if !x.busy {
		x.busy = true
		x.mu.Unlock()
		return nil
	}
	if len(x.waiting) >= size {
		x.mu.Unlock()
		return errFull
	}
	me := make(waiter, 1)
	x.waiting = append(x.waiting, me)
	x.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var why error
	select {
	case granted := <-me:
		if !granted {
			return errDropped
		}
		if ctx.Err() != nil { // both happened: a command whose client is gone must not run
			x.release()
			return errGone
		}
		return nil
	case <-timer.C:
		why = errWaited
	case <-ctx.Done():
		why = errGone
	}
	x.mu.Lock()
	if i := slices.Index(x.waiting, me); i >= 0 {
		x.waiting = slices.Delete(x.waiting, i, i+1)
		x.mu.Unlock()
		return why
	}
	x.mu.Unlock()
	if <-me { // it was given meanwhile: pass it on
		x.release()
	}
	return why
}

// try takes the turn only when it is free.
func (x *session) try() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.busy || x.closed {
		return false
	}
	x.busy = true
	return true
}

// release gives the turn to the next.
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

// close turns the waiters away and kills the shell. What is running ends by itself.
func (x *session) close() {
	x.mu.Lock()
	x.closed = true
	waiting := x.waiting
	x.waiting = nil
	x.mu.Unlock()
	for _, w := range waiting {
		w <- false
	}
	x.run.Close()
}

func (x *session) load() (busy bool, queued int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.busy, len(x.waiting)
}

// sessions are the live ones.
type sessions struct {
	set   *state.Settings
	mu    sync.Mutex
	m     map[key]*session
	order []*session // as they were made
}

// maxSessions limits the topics of an agent: each keeps a history, variables and perhaps a shell.
const maxSessions = 1000

// touch gives the session of a topic, a new one if there is none; none when the agent has too many.
func (l *sessions) touch(agent string, t lang.Topic) (x *session, created bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{agent, t.Name}
	if x := l.m[k]; x != nil {
		return x, false, nil
	}
	if len(l.of(agent)) >= maxSessions {
		return nil, false, refuse(http.StatusTooManyRequests, "Agent %s has %d sessions. Delete some first.", agent, maxSessions)
	}
	x = &session{id: k, run: state.NewSession(l.set, t)}
	l.m[k] = x
	l.order = append(l.order, x)
	return x, true, nil
}

// list gives the sessions of an agent, or all, in the order they were made.
func (l *sessions) list(agent string) (out []*session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(agent)
}

// of is list; the lock is held.
func (l *sessions) of(agent string) (out []*session) {
	for _, x := range l.order {
		if agent == "" || x.id.agent == agent {
			out = append(out, x)
		}
	}
	return out
}

// remove takes sessions out of the list and closes them.
func (l *sessions) remove(which func(*session) bool) int {
	l.mu.Lock()
	var removed []*session
	l.order = slices.DeleteFunc(l.order, func(x *session) bool {
		if !which(x) {
			return false
		}
		removed = append(removed, x)
		delete(l.m, x.id)
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

func (l *sessions) drop(agent string) {
	l.remove(func(x *session) bool { return x.id.agent == agent })
}

func (l *sessions) closeAll() { l.remove(func(*session) bool { return true }) }

// Sessions implements state.Host.
func (s *Server) Sessions(agent string) []*state.Session {
	return api.Each(s.sessions.list(agent), func(x *session) *state.Session { return x.run })
}

// CloseSession implements state.Host.
func (s *Server) CloseSession(agent, topic string) bool {
	return s.sessions.remove(func(x *session) bool { return x.id == key{agent, topic} }) > 0
}

func (s *Server) listSessions(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	list := []kit.Object{}
	for _, x := range s.sessions.list(r.URL.Query().Get("agent_id")) {
		busy, queued := x.load()
		var doc, about kit.Object
		if m := x.run.Meta(); m != nil {
			doc = kit.Object{"uri", m.URI, "title", m.Title, "current_block", m.CurrentBlock}
			about = kit.Object{"uri", m.URI, "title", m.Title, "menus", m.Menus, "actions", m.Actions, "history_length", m.HistoryLength,
				"block_id", m.BlockID, "converted", m.Converted, "warnings", m.Warnings}
		}
		list = append(list,
			append(kit.Object{"agent_id", x.id.agent, "topic", x.run.Topic.Name, "topic_type", x.run.Topic.Type, "executing", busy,
				"queue_length", queued, "doc", doc, "created", true}, about...))
	}
	return kit.Object{"sessions", list}, nil
}

func (s *Server) createSession(w http.ResponseWriter, r *http.Request) (kit.Object, error) {
	o, id, err := s.ofAgent(w, r)
	if err != nil {
		return nil, err
	}
	if _, ok := s.agents.get(id); !ok {
		return nil, refuse(http.StatusUnauthorized, "Unknown agent: %s", id)
	}
	t, err := topicOf(o)
	if err != nil {
		return nil, err
	}
	_, created, err := s.sessions.touch(id, t)
	return kit.Object{"agent_id", id, "topic", t.Name, "topic_type", t.Type, "created", created}, err
}

// topicOf reads a request's topic.
func topicOf(o serve.Members) (lang.Topic, error) {
	raw, isString := text(o, "topic")
	if !isString && o["topic"] != nil {
		return lang.Topic{}, refuse(http.StatusBadRequest, "Invalid topic: %s", o["topic"])
	}
	t, ok := lang.ParseTopic(raw)
	if !ok {
		return t, refuse(http.StatusBadRequest, "Invalid topic: %s", raw)
	}
	return t, nil
}

func (s *Server) deleteSession(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	// The decoded whole is split, so that an escaped slash parts agent and topic like a plain one.
	agent, raw, _ := strings.Cut(r.PathValue("session"), "/")
	if agent == "" || raw == "" {
		return nil, refuse(http.StatusBadRequest, "Expected /sessions/:agent_id/:topic")
	}
	t, valid := lang.ParseTopic(raw)
	if !valid {
		return nil, refuse(http.StatusBadRequest, "Invalid topic: %s", raw)
	}
	return kit.Object{"agent_id", agent, "topic", t.Name, "deleted", s.CloseSession(agent, t.Name)}, nil
}
