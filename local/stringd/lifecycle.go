package stringd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/stringd/command"
)

// health answers without asking anybody: it works without a leader.
func (s *Server) health(w http.ResponseWriter, _ *http.Request, _ []string) error {
	role, _ := s.cfg.Memory.Role()
	reply(w, http.StatusOK, fields{{"ok", true}, {"agents", len(s.agents.all())}, {"sessions", len(s.sessions.list(""))},
		{"version", s.cfg.Version}, {"role", role}})
	return nil
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request, _ []string) error {
	label, role := s.instance()
	none := fields{}
	reply(w, http.StatusOK, fields{{"name", "stringd"}, {"version", s.cfg.Version}, {"api", "string-daemon/v2"},
		{"instance", fields{{"instance_label", label}, {"role", role}}},
		{"capabilities", fields{{"describe", none}, {"agents", none}, {"agent-webhooks", none}, {"events", fields{{"max_webhook_text_bytes", maxEvent}}}, {"event-stream", none},
			{"sessions", none}, {"exec", fields{{"max_request_body_bytes", maxBody}, {"max_queue_size", s.cfg.QueueSize}, {"queue_wait_timeout_ms", s.cfg.QueueWait.Milliseconds()},
				{"command_timeout_ms", s.cfg.Timeout.Milliseconds()}, {"shell", !s.cfg.NoShell}}},
			{"mcp", none}, {"memory", none}}}})
	return nil
}

// instance is what daemon.json in the data directory calls this daemon, read anew each time. Clients refuse a role they do not
// know, so a daemon without a name says unknown.
func (s *Server) instance() (label, role string) {
	label, role = "stringd", "unknown"
	var said struct {
		Label string `json:"instance_label"`
		Role  string `json:"role"`
	}
	b, err := os.ReadFile(filepath.Join(s.cfg.Data, "daemon.json"))
	if err != nil || json.Unmarshal(b, &said) != nil {
		return label, role
	}
	if strings.TrimSpace(said.Label) != "" {
		label = strings.TrimSpace(said.Label)
	}
	if slices.Contains([]string{"production", "dev", "test"}, said.Role) {
		role = said.Role
	}
	return label, role
}

// shutdownGrace lets the answer leave before the listener closes.
const shutdownGrace = 50 * time.Millisecond

func (s *Server) shutdown(w http.ResponseWriter, _ *http.Request, _ []string) error {
	if !s.cfg.AllowShutdown {
		return refuse(http.StatusForbidden, "%v", errNoShutdown)
	}
	reply(w, http.StatusOK, fields{{"ok", true}, {"message", "stringd shutting down"}})
	_ = http.NewResponseController(w).Flush() // before anything ends, however long that takes
	return s.Shutdown()
}

var errNoShutdown = errors.New("shutdown is not allowed on this node")

// Shutdown implements command.Host: it stops the process shortly after the answer is out.
func (s *Server) Shutdown() error {
	if !s.cfg.AllowShutdown {
		return errNoShutdown
	}
	time.AfterFunc(shutdownGrace, func() {
		if s.cfg.Stop != nil {
			s.cfg.Stop()
			return
		}
		if err := s.Close(); err != nil {
			s.log.Warn("close", "err", err)
		}
	})
	return nil
}

// Status implements command.Host.
func (s *Server) Status() string {
	role, index := s.cfg.Memory.Role()
	return fmt.Sprintf("stringd running on port %s — %d agent(s), %d session(s)\nnode: %s, index %d", s.port(), len(s.agents.all()), len(s.sessions.list("")), role, index)
}

var _ command.Host = (*Server)(nil)
