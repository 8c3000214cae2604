package stringd

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/inbox"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

func (s *Server) listAgents(http.ResponseWriter, *http.Request) (kit.Object, error) {
	return kit.Object{"agents", api.Each(s.agents.all(), agent.public)}, nil
}

// readAgentRequest reads the body of a request and the agent id in it.
func (s *Server) readAgentRequest(w http.ResponseWriter, r *http.Request) (o serve.Members, id string, err error) {
	if o, err = s.readObject(w, r); err != nil {
		return nil, "", err
	}
	if id, _ = textField(o, "agent_id"); id == "" {
		err = httpErrorf(http.StatusBadRequest, "agent_id required")
	}
	return o, id, err
}

func (s *Server) registerAgent(w http.ResponseWriter, r *http.Request) (kit.Object, error) {
	o, id, err := s.readAgentRequest(w, r)
	if err != nil {
		return nil, err
	}
	home, _ := textField(o, "home")
	var allowed []string
	if raw, ok := o["allowed_paths"]; ok {
		var list []string
		if json.Unmarshal(raw, &list) != nil || list == nil {
			return nil, httpErrorf(http.StatusBadRequest, "allowed_paths must be an array of strings")
		}
		allowed = api.OrEmpty(lang.TrimAll(list))
	}
	created, err := s.AddAgent(id, home, allowed)
	a, _ := s.agents.get(id)
	return kit.Object{"agent_id", id, "home", a.Home, "created", created}, err
}

// AddAgent implements state.Host: it registers an agent, or changes it. An empty home or nil allowed paths leave
// those of an existing agent unchanged.
func (s *Server) AddAgent(id, home string, allowed []string) (created bool, err error) {
	if !validID(id) {
		return false, httpErrorf(http.StatusBadRequest, "Invalid agent_id: %s", id)
	}
	old, exists := s.agents.get(id)
	chosen := home != ""
	if rest, ok := strings.CutPrefix(home, "~"); ok && (rest == "" || rest[0] == '/') {
		home = s.cfg.Home + rest
	}
	switch {
	case chosen && !filepath.IsAbs(home):
		return false, httpErrorf(http.StatusBadRequest, "home must be an absolute path")
	case chosen:
		home = filepath.Clean(home)
	case exists:
		home = old.Home
	default:
		home = filepath.Join(s.cfg.Agents, id)
	}
	for _, dir := range append([]string{home}, allowed...) {
		if !s.cfg.FullAccess && !s.settings.Roots.Contain(home, dir) {
			return false, httpErrorf(http.StatusBadRequest,
				"%s lies outside the directories this node gives to agents: %s; [local] string_roots lists others",
				dir, s.settings.Roots)
		}
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return false, httpErrorf(http.StatusBadRequest, "home cannot be created: %v", errors.Unwrap(err))
	}
	if exists && !chosen && allowed == nil {
		return false, nil
	}
	created, err = s.agents.put(id, func(a *agent) {
		a.Home = home
		if allowed != nil {
			a.Allowed = allowed
		}
	})
	if err == nil && exists && old.Home != home {
		s.sessions.removeAgent(id)
	}
	return created, err
}

// RemoveAgent implements state.Host. It closes the sessions and streams of the agent, and keeps its files.
func (s *Server) RemoveAgent(id string) (bool, error) {
	removed, err := s.agents.remove(id)
	if removed {
		s.sessions.removeAgent(id)
		s.streams.remove(func(f *subscriber) bool { return f.agent == id })
	}
	return removed, err
}

func (s *Server) deleteAgent(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	removed, err := s.RemoveAgent(r.PathValue("id"))
	return kit.Object{"agent_id", r.PathValue("id"), "deleted", removed}, err
}

// webhookURL answers with the URL of an agent. With POST, it replaces the token first.
func (s *Server) webhookURL(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	id := r.PathValue("id")
	url, err := s.Webhook(id, r.Method == http.MethodPost)
	return kit.Object{"agent_id", id, "webhook_url", url}, err
}

// Webhook implements state.Host: it returns the URL of an agent, with a new token if rotate is set. Each agent gets
// its first token when it is registered, because a GET must not create one.
func (s *Server) Webhook(id string, rotate bool) (string, error) {
	a, ok := s.agents.get(id)
	if !ok {
		return "", httpErrorf(http.StatusNotFound, "Unknown agent: %s", id)
	}
	if rotate {
		err := s.agents.change(func(l []agent) []agent {
			if i := find(l, id); i >= 0 {
				l[i].Token = newToken()
				a = l[i]
			}
			return l
		})
		if err != nil {
			return "", err
		}
	}
	return "http://" + s.Addr() + "/webhook/" + a.Token, nil
}

// Agents implements state.Host.
func (s *Server) Agents() []state.Agent {
	return api.Each(s.agents.all(), func(a agent) state.Agent { return a.Agent })
}

// agentHeader returns the id of the agent in the header of a request.
func agentHeader(r *http.Request) string {
	return strings.TrimSpace(field.HeaderText(r.Header.Get("X-Agent-Id")))
}

// requestAgent returns the agent that the header of a request names.
func (s *Server) requestAgent(r *http.Request) (agent, error) {
	id := agentHeader(r)
	if id == "" {
		return agent{}, httpErrorf(http.StatusBadRequest, "X-Agent-Id header required")
	}
	a, ok := s.agents.get(id)
	if !ok {
		return agent{}, httpErrorf(http.StatusUnauthorized, "Unknown agent: %s", id)
	}
	return a, nil
}

// Inbox implements state.Host. There is one Inbox for each agent and home, so that one lock guards its files.
func (s *Server) Inbox(a state.Agent) *inbox.Inbox {
	b, _ := s.inboxes.LoadOrStore([2]string{a.ID, a.Home}, inbox.New(a.ID, a.Home, s.cfg.Keys, s.Log))
	return b.(*inbox.Inbox)
}
