package stringd

import (
	"errors"
	"fmt"
	"net/http"
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
	reply(w, http.StatusOK, fields{{"name", "stringd"}, {"version", s.cfg.Version}, {"api", "0.1"}, {"capabilities", fields{
		{"shell", !s.cfg.NoShell}, {"memory", true}, {"mcp", true}, {"events", true}, {"max_body_bytes", maxBody},
		{"max_queue_size", s.cfg.QueueSize}, {"queue_wait_timeout_ms", s.cfg.QueueWait.Milliseconds()}, {"command_timeout_ms", s.cfg.Timeout.Milliseconds()},
	}}})
	return nil
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
