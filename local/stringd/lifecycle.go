package stringd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// health queries no other node, so it works without a leader.
func (s *Server) health(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	role, _ := s.nodeRole(r.Context())
	return kit.Object{"ok", true, "agents", len(s.agents.all()), "sessions", len(s.sessions.list("")),
		"version", s.cfg.Version, "role", role}, nil
}

func (s *Server) describe(_ http.ResponseWriter, r *http.Request) (kit.Object, error) {
	label, role := s.instance()
	empty := kit.Object{}
	_, noShell := api.RunProgram.Ask(r.Context(), s.cfg.Memory, &api.HostRequest{})
	return kit.Object{"name", "stringd", "version", s.cfg.Version, "api", "string-daemon/v2",
		"instance", kit.Object{"instance_label", label, "role", role},
		"capabilities", kit.Object{"describe", empty, "agents", empty, "agent-webhooks", empty, "events",
			kit.Object{"max_webhook_text_bytes", maxEvent}, "event-stream", empty,
			"sessions", empty, "exec",
			kit.Object{"max_request_body_bytes", maxBody, "max_queue_size", s.cfg.QueueSize, "queue_wait_timeout_ms",
				s.cfg.QueueWait.Milliseconds(),
				"command_timeout_ms", s.cfg.Timeout.Milliseconds(), "shell", noShell == nil},
			"mcp", empty, "memory", empty}}, nil
}

// instance returns the label and the role of this daemon from daemon.json in the data directory. It reads the file
// each time. A role that clients do not know becomes "unknown".
func (s *Server) instance() (label, role string) {
	label, role = "stringd", "unknown"
	var config struct {
		Label string `json:"instance_label"`
		Role  string `json:"role"`
	}
	b, err := os.ReadFile(filepath.Join(s.cfg.Data, "daemon.json"))
	if err != nil || json.Unmarshal(b, &config) != nil {
		return label, role
	}
	if strings.TrimSpace(config.Label) != "" {
		label = strings.TrimSpace(config.Label)
	}
	if slices.Contains([]string{"production", "dev", "test"}, config.Role) {
		role = config.Role
	}
	return label, role
}

// shutdownGrace gives the answer time to be sent before the listener closes.
const shutdownGrace = 50 * time.Millisecond

func (s *Server) shutdown(w http.ResponseWriter, r *http.Request) error {
	err := s.stopNode(func() {
		reply(w, http.StatusOK, kit.Object{"ok", true, "message", "stringd shutting down"})
		_ = http.NewResponseController(w).Flush() // before the shutdown begins
	})
	if err != nil {
		return httpErrorf(http.StatusForbidden, "%v", err)
	}
	return nil
}

// Shutdown implements state.Host. It stops the process shortly after the answer is sent.
func (s *Server) Shutdown() error { return s.stopNode(func() {}) }

// stopNode answers and then stops the process, if the door allows it.
func (s *Server) stopNode(answer func()) error {
	_, err := api.StopNode.Ask(s.Ctx, s.cfg.Memory, &api.HostRequest{Run: func(context.Context) error {
		answer()
		time.AfterFunc(shutdownGrace, s.stop)
		return nil
	}})
	if err != nil {
		return errors.New("shutdown is not allowed on this node")
	}
	return nil
}

// stop stops the process, or only the daemon if Config.Stop is nil.
func (s *Server) stop() {
	if s.cfg.Stop != nil {
		s.cfg.Stop()
		return
	}
	if err := s.Close(); err != nil {
		s.Log.Warn("close", "err", err)
	}
}

// nodeRole returns the role of the node in its cluster and its applied log index, or "unknown" while the memory is
// closed.
func (s *Server) nodeRole(ctx context.Context) (role string, applied oplog.Index) {
	a, err := api.Place.Ask(ctx, s.cfg.Memory, &api.Nothing{})
	if err != nil {
		return "unknown", 0
	}
	return a.Role, a.Applied
}

// Status implements state.Host.
func (s *Server) Status() string {
	role, index := s.nodeRole(s.Ctx)
	_, port, _ := net.SplitHostPort(s.Addr())
	return fmt.Sprintf("stringd running on port %s — %d agent(s), %d session(s)\nnode: %s, index %d", port,
		len(s.agents.all()), len(s.sessions.list("")), role, index)
}

var _ state.Host = (*Server)(nil)
