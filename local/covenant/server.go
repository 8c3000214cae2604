package covenant

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/covenant/audit"
	"github.com/cairndb/cairn/local/covenant/ignore"
	"github.com/cairndb/cairn/local/covenant/mailbox"
	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	atrest "github.com/cairndb/cairn/oplog/seal"
)

// Config says what a server is. Home and Memory are required; a zero elsewhere means the default beside it.
type Config struct {
	Home         string // COVENANT_HOME: the socket and this node's own files
	Memory       api.At
	Node         uint32        // this node's id in the cluster; intents and grants carry it
	Secret       string        // of the cluster: lets its nodes share the operator's key; empty: they do not
	NoBootstrap  bool          // a new operator starts without any capability
	HTTP         string        // address of the HTTP mirror; empty for none
	Origins      []string      // http://localhost:3000: pages that may ask the mirror
	WriteTimeout time.Duration // 5s
	AuthTimeout  time.Duration // 30s: for a connection to say who it is
	Logger       *slog.Logger  // discards
	ShowScore    bool          // search results carry metadata._score
	Keys         *atrest.Ring  // encrypts mailbox, audit files and registry; nil: they are plain
}

func (c Config) withDefaults() Config {
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 5*time.Second)
	c.AuthTimeout = cmp.Or(c.AuthTimeout, 30*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Origins == nil {
		c.Origins = []string{"http://localhost:3000"}
	}
	return c
}

// Server is the surface of one node.
type Server struct {
	cfg    Config
	log    *slog.Logger
	audit  *audit.Log
	box    *mailbox.Box
	peers  *registry
	socket *serve.Socket
	httpAt string

	listeners closers // closed first, before the connections end
	files     closers // closed last

	*serve.Work
	large serve.Large

	identity

	mu      sync.Mutex
	flights map[string]int // intents and grants whose audit row is still to come

	rejections rejections
}

// identity is the key that this node signs with, and the operator.
type identity struct {
	local    ed25519.PrivateKey // this node's own; the operator's only if it came first
	resolved chan struct{}      // closed when operator and signer are known
	operator AgentID
	signer   ed25519.PrivateKey // nil when this node does not hold the operator's key
}

// Listen opens a home and serves it until Close.
func Listen(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, log: cfg.Logger, identity: identity{resolved: make(chan struct{})}, flights: map[string]int{}, Work: serve.NewWork(cfg.Logger),
		large: serve.NewLarge(maxLarge)}
	err := door.CheckOrigins(s.cfg.Origins)
	if err == nil {
		err = s.claim()
	}
	if err == nil {
		err = s.openHome()
	}
	if err == nil && s.cfg.HTTP != "" {
		err = s.listenHTTP()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.Go(s.resolveOperator)
	s.Accept(s.socket, "covenant", 0, s.converse, nil)
	return s, nil
}

func (s *Server) openHome() (err error) {
	home := s.cfg.Home
	if s.local, err = loadKey(filepath.Join(home, "identity", "local.key")); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if s.peers, err = openRegistry(filepath.Join(home, "peers", "registry.jsonl"), s.cfg.Keys); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	s.files = append(s.files, func() error { return s.peers.file.Close() }) // a purge replaces it
	if err := s.peers.operatorToken(s.tokenPath(), millis(time.Now())); err != nil {
		return fmt.Errorf("operator token: %w", err)
	}
	if s.audit, err = audit.Open(filepath.Join(home, "audit"), s.cfg.Keys, s.log); err != nil {
		return err
	}
	s.files = append(s.files, func() error {
		s.recordRejections()
		return s.audit.Close()
	})
	if err := ignore.Ensure(s.rulesPath()); err != nil {
		return err
	}
	if s.box, err = mailbox.Open(filepath.Join(home, "a2a", "events.jsonl"), s.cfg.Keys); err != nil {
		return err
	}
	s.files = append(s.files, s.box.Close)
	return nil
}

func (s *Server) tokenPath() string { return filepath.Join(s.cfg.Home, "peers", "operator.token") }

// rulesPath returns the path of the ignore rules. They are read for each intent, as they are then.
func (s *Server) rulesPath() string { return filepath.Join(s.cfg.Home, ".covenantignore") }

// Socket returns the path of the socket that the server listens on.
func (s *Server) Socket() string { return filepath.Join(s.cfg.Home, "sock") }

// HTTP returns the mirror's address; empty without a mirror.
func (s *Server) HTTP() string { return s.httpAt }

// maxSocketPath is the shortest of the systems' bounds.
const maxSocketPath = 103

// claim makes the home, its directories and the socket in it. A live owner's is left to it.
func (s *Server) claim() error {
	path := s.Socket()
	if len(path) > maxSocketPath {
		return fmt.Errorf("socket path of %d bytes is over %d: choose a shorter home", len(path), maxSocketPath)
	}
	for _, dir := range []string{"identity", "peers", "a2a"} {
		if err := os.MkdirAll(filepath.Join(s.cfg.Home, dir), 0o700); err != nil {
			return err
		}
	}
	if err := os.Chmod(s.cfg.Home, 0o700); err != nil {
		return err
	}
	var err error
	if s.socket, err = serve.Claim(path, serve.Answers); err != nil {
		return err
	}
	s.listeners = append(s.listeners, s.socket.Close)
	return nil
}

// Close stops listening, ends the connections, and waits for the requests at work. It may be called twice.
func (s *Server) Close() error {
	if !s.Shut() {
		return nil
	}
	err := s.listeners.close()
	select {
	case <-s.resolved:
	default:
		s.Cut() // the operator will not be known any more
	}
	s.Drain(closeTimeout)
	return errors.Join(err, s.files.close())
}

// closers are closed in the order in which they were opened.
type closers []func() error

func (c closers) close() (err error) {
	for _, f := range c {
		err = errors.Join(err, f())
	}
	return err
}

// closeTimeout limits the time for running requests when the server stops.
const closeTimeout = 2 * time.Second

// flight notes that a change is on its way into state and audit; land ends it. verify passes over changes in flight.
func (s *Server) flight(id string) (land func()) {
	s.mu.Lock()
	s.flights[id]++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flights[id]--; s.flights[id] == 0 {
			delete(s.flights, id)
		}
	}
}

func (s *Server) inFlight() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.flights)
}

func millis(t time.Time) uint64 { return uint64(t.UnixMilli()) }

// storeError returns the error that a client reads for a failed read or write. subject names the store: memory,
// permissions, peers.
func storeError(subject string, err error) error {
	var e *oplog.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: outcome unknown: the write was not answered in time", subject)
		}
		return fmt.Errorf("%s: store failed", subject)
	case e.Kind == oplog.Unavailable || e.Kind == oplog.NotLeader:
		return fmt.Errorf("%s: no leader: nothing was written", subject)
	case e.Kind == oplog.UnknownOutcome:
		return fmt.Errorf("%s: outcome unknown: %s", subject, e.Text)
	}
	return fmt.Errorf("%s: %s", subject, strings.TrimSuffix(e.Text, "."))
}
