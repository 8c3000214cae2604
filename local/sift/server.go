package sift

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
)

// Config configures a server. Home and Memory are required. Comments begin with the default of a zero value.
type Config struct {
	Home           string            // the directory that clients call ~/.siftcoder
	NS             string            // "default"; the namespace below Home
	Memory         api.At            // with the scope api.Stop, clients may stop the node, or their workspace
	Private        bool              // a workspace sees its own memories only, not those of other protocols
	Names          map[string]string // workspaces that share memories: "<ns>/<key>" → name
	Transcripts    string            // ~/.claude/projects; read by backfill
	Rollouts       string            // ~/.codex/sessions; read by backfill
	Stop           func()            // stops the node for a client's shutdown; nil: only the workspace is stopped
	MaxConns       int64             // 2048; over all workspaces
	IdleTimeout    time.Duration     // 30s; for a client to send its request
	CaptureTimeout time.Duration     // 900ms; shorter than the second that hooks wait for a capture
	Logger         *slog.Logger      // discards
}

func (c Config) withDefaults() Config {
	c.NS = cmp.Or(c.NS, DefaultNS)
	c.MaxConns = cmp.Or(c.MaxConns, 2048)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 30*time.Second)
	c.CaptureTimeout = cmp.Or(c.CaptureTimeout, 900*time.Millisecond)
	if home, err := os.UserHomeDir(); err == nil {
		c.Transcripts = cmp.Or(c.Transcripts, filepath.Join(home, ".claude", "projects"))
		c.Rollouts = cmp.Or(c.Rollouts, filepath.Join(cmp.Or(os.Getenv("CODEX_HOME"), filepath.Join(home, ".codex")), "sessions"))
	}
	return c
}

// format is the framing of the protocol.
var format = serve.Format{Max: 16 << 20}

// Server serves workspaces, each on its own socket, and the control socket.
type Server struct {
	cfg     Config
	started time.Time
	large   serve.Large
	*serve.Work

	kinds, controls map[string]handler

	mu      sync.Mutex           // locked before a listener's mu
	serving map[string]*listener // by workspace key; "" is the control socket
	runs    map[string]*backfillRun

	backlogs map[string]*backlog // by workspace namespace
}

// Open creates the directories, listens on the control socket, and serves the workspaces of an earlier run.
func Open(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := CheckNS(cfg.NS); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, started: time.Now(), large: serve.NewLarge(3), Work: serve.NewWork(cfg.Logger),
		serving: map[string]*listener{}, runs: map[string]*backfillRun{}, backlogs: map[string]*backlog{}, kinds: workspaceHandlers(),
		controls: controlHandlers()}
	for _, dir := range []string{cfg.Home, cfg.base(), filepath.Join(cfg.base(), "run"), filepath.Join(cfg.base(), "workspaces")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	l, err := s.listen(ControlSocket(cfg.Home), nil)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	s.serving[""] = l
	s.reopen()
	return s, nil
}

// reopen serves the workspaces of an earlier run. It logs those that cannot be served.
func (s *Server) reopen() {
	entries, _ := os.ReadDir(filepath.Join(s.cfg.base(), "workspaces"))
	for _, e := range entries {
		dir, err := os.ReadFile(s.cfg.files(e.Name(), fileDir))
		if err != nil {
			continue // not a workspace of this server
		}
		w := Workspace{Key: e.Name(), Dir: strings.TrimSpace(string(dir))}
		w.Top = w.Dir
		if found, err := FindWorkspace(s.Ctx, w.Dir, ""); err == nil {
			w.Top = found.Top
		}
		if _, err := s.Serve(w); err != nil {
			s.Log.Warn("workspace not served", "key", w.Key, "err", err)
		}
	}
}

// The files in the directory of a workspace.
const (
	filePid  = "run.pid"
	filePort = "http.port"
	fileDir  = "cwd" // not of the original daemon: the directory of the workspace
)

// Serve listens on the socket of a workspace and returns its path. It does nothing for a workspace that is served
// already.
func (s *Server) Serve(w Workspace) (socket string, err error) {
	socket = Socket(s.cfg.Home, s.cfg.NS, w.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Open.Err() != nil {
		return "", errors.New("the server is closing")
	}
	if s.serving[w.Key] != nil {
		return socket, nil
	}
	if name := s.cfg.Names[s.cfg.NS+"/"+w.Key]; name != "" {
		w.Name = name
	}
	if err := s.checkNoDaemon(w.Key, socket); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(s.cfg.files(w.Key, filePid)), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(s.cfg.files(w.Key, fileDir), []byte(w.Dir+"\n"), 0o600); err != nil {
		return "", err
	}
	l, err := s.listen(socket, &w)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(s.cfg.files(w.Key, filePid), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		return "", errors.Join(err, l.close())
	}
	s.serving[w.Key] = l
	s.Log.Info("workspace served", "key", w.Key, "socket", socket)
	return socket, nil
}

// Stop stops serving a workspace and removes its files. It holds the lock meanwhile, because a server that serves the
// workspace next uses the same names.
func (s *Server) Stop(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.serving[key]
	if l == nil || key == "" {
		return nil
	}
	delete(s.serving, key)
	return l.close()
}

// Close stops listening, finishes running requests, and removes the sockets.
func (s *Server) Close() error {
	s.mu.Lock()
	s.StopReading()
	var errs []error
	for _, l := range s.serving {
		errs = append(errs, l.close())
	}
	clear(s.serving)
	s.mu.Unlock()
	s.Drain(closeGrace)
	return errors.Join(errs...)
}

// closeGrace bounds how long Close waits for running requests.
const closeGrace = 2 * time.Second

// servedWorkspaces returns the served workspaces, sorted by key.
func (s *Server) servedWorkspaces() []Workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Workspace
	for _, l := range s.serving {
		if l.workspace != nil {
			all = append(all, *l.workspace)
		}
	}
	slices.SortFunc(all, func(a, b Workspace) int { return strings.Compare(a.Key, b.Key) })
	return all
}
