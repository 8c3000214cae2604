package stringd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/environ"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/seal"
)

// Config configures a daemon. Addr, Data, Agents and Memory are required. Comments begin with the default of a zero
// value.
type Config struct {
	Addr       string   // loopback only; port 0 picks one
	Data       string   // directory of agents.json, created if absent; one daemon at a time
	Agents     string   // directory of the default homes
	Home       string   // the user's home; replaces ~ in POST /agents
	Roots      []string // directories that may contain homes and allowed paths, besides Agents
	Closed     []string // directories in the roots that agents must not reach, such as the node's home
	Origins    []string // none; of the web pages that may send requests
	Token      string   // lets in clients that are not known to run as the node's user; empty: none
	TokenFile  string   // path of the token, for the message to rejected clients
	Memory     api.At   // its scopes (api.Programs and so on) decide whether agents run programs, use files, call other hosts and stop the daemon
	Version    string
	FullAccess bool          // documents may lie anywhere, not only in the agent's home and allowed paths
	Stop       func()        // stops the process; nil: only the daemon stops
	QueueSize  int           // 5: commands waiting for a topic
	QueueWait  time.Duration // 120s
	Timeout    time.Duration // 120s: of a program
	Ping       time.Duration // 30s: between pings of a stream
	Logger     *slog.Logger  // discards
	Keys       *seal.Ring    // encrypts inboxes and the registry; nil: they are plain
	Temp       string        // DATA/tmp; holds commands while a shell reads them
}

func (c Config) withDefaults() Config {
	c.QueueSize = cmp.Or(c.QueueSize, 5)
	c.QueueWait = cmp.Or(c.QueueWait, 120*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 120*time.Second)
	c.Ping = cmp.Or(c.Ping, 30*time.Second)
	if c.Home == "" {
		c.Home, _ = os.UserHomeDir() // without a home, ~ is rejected
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	host, _, err := net.SplitHostPort(c.Addr)
	if ip, e := netip.ParseAddr(host); err != nil || e != nil || !ip.IsLoopback() {
		errs = append(errs, fmt.Errorf("address %q: this surface is for loopback only", c.Addr))
	}
	if !filepath.IsAbs(c.Data) || !filepath.IsAbs(c.Agents) {
		errs = append(errs, errors.New("data and agent directories must be absolute"))
	}
	if c.Memory.Host == nil {
		errs = append(errs, errors.New("no memory"))
	}
	errs = append(errs, door.CheckOrigins(c.Origins))
	return errors.Join(errs...)
}

// Server is a running daemon.
type Server struct {
	cfg      Config
	ln       net.Listener
	endHTTP  func(grace time.Duration) error
	lock     *os.File
	agents   *registry
	sessions *sessions
	streams  streams
	inboxes  sync.Map // by agent and home
	large    serve.Large
	settings *state.Settings

	*serve.Work
	closeOnce sync.Once
	closeErr  error // of Close
}

// Listen opens the registry and serves. The daemon runs until Close.
func Listen(cfg Config) (_ *Server, err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, Work: serve.NewWork(cfg.Logger), large: serve.NewLarge(maxLarge)}
	temp := cmp.Or(cfg.Temp, filepath.Join(cfg.Data, "tmp"))
	if s.lock, err = lockDir(cfg.Data); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = unlockDir(s.lock)
		}
	}()
	if err := errors.Join(os.RemoveAll(temp), os.MkdirAll(temp, 0o700)); err != nil { // files of an earlier run
		return nil, err
	}
	if s.agents, err = openRegistry(filepath.Join(cfg.Data, "agents.json"), cfg.Keys, s.Log); err != nil {
		return nil, err
	}
	if s.ln, err = net.Listen("tcp4", cfg.Addr); err != nil {
		return nil, err
	}
	s.settings = &state.Settings{Host: s, Memory: cfg.Memory, FullAccess: cfg.FullAccess,
		Roots: state.NewRoots(cfg.Agents, cfg.Roots, append([]string{cfg.Data}, cfg.Closed...)), Timeout: cfg.Timeout,
		Environ: environ.Clean(), Temp: temp}
	d := &door.Door{Origins: cfg.Origins, Hint: "send the token in " + cfg.TokenFile,
		Token: func(bearer string) bool { return cfg.Token != "" && door.EqualSecrets(bearer, cfg.Token) }}
	s.sessions = &sessions{settings: s.settings, byKey: map[key]*session{}}
	// Requests have their own context, so that a request in a queue still gets an answer when the daemon stops.
	s.endHTTP = s.AcceptHTTP(s.ln, d, context.Background(), s.forbid, s.handler())
	return s, nil
}

// lockDir locks the data directory for this process.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s is in use by another daemon: %w", dir, err)
	}
	return f, nil
}

// unlockDir unlocks the directory before it closes the file. A program that is just being started may hold a copy of
// the descriptor, which would keep the lock.
func unlockDir(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// Addr returns the address that the daemon listens on.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// drainTimeout bounds how long Close waits for running answers.
const drainTimeout = time.Second

// Close stops the daemon: it closes the listener, ends the streams and kills the shells with their programs.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.Cancel()
		s.streams.closeAll()
		s.sessions.closeAll()
		s.closeErr = s.endHTTP(drainTimeout)
		s.Drain(0)
		s.closeErr = errors.Join(s.closeErr, unlockDir(s.lock))
	})
	return s.closeErr
}
