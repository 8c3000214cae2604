package covenant

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/covenant/audit"
	"github.com/cairndb/cairn/local/covenant/ignore"
	"github.com/cairndb/cairn/local/covenant/mailbox"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	atrest "github.com/cairndb/cairn/oplog/seal"
)

// Config says what a server is. Home and Memory are required; a zero elsewhere means the default beside it.
type Conf struct {
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

func (c Conf) withDefaults() Conf {
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 5*time.Second)
	c.AuthTimeout = cmp.Or(c.AuthTimeout, 30*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Origins == nil {
		c.Origins = []string{"http://localhost:3000"}
	}
	return c
}

// Home is what one node has: who it is, its tokens, its mailbox and its audit files, and the memory behind them.
type Home struct {
	*serve.Work
	cfg   Conf
	log   *slog.Logger
	audit *audit.Log
	box   *mailbox.Box
	peers *registry

	identity

	mu      sync.Mutex
	flights map[string]int // intents and grants whose audit row is still to come

	rejections rejections
	files      []func() error // close what was opened, in that order
}

// identity is the key that this node signs with, and the operator.
type identity struct {
	local    ed25519.PrivateKey // this node's own; the operator's only if it came first
	resolved chan struct{}      // closed when operator and signer are known
	operator AgentID
	signer   ed25519.PrivateKey // nil when this node does not hold the operator's key
}

func newHome(cfg Conf) *Home {
	cfg = cfg.withDefaults()
	return &Home{Work: serve.NewWork(cfg.Logger), cfg: cfg, log: cfg.Logger, identity: identity{resolved: make(chan struct{})}, flights: map[string]int{}}
}

// openHome opens the files; the directories are there.
func (s *Home) openHome() (err error) {
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

func (s *Home) tokenPath() string { return filepath.Join(s.cfg.Home, "peers", "operator.token") }

// rulesPath returns the path of the ignore rules. They are read for each intent, as they are then.
func (s *Home) rulesPath() string { return filepath.Join(s.cfg.Home, ".covenantignore") }

// closeHome closes what openHome has opened.
func (s *Home) closeHome() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, f())
	}
	return err
}

// flight notes that a change is on its way into state and audit; land ends it. verify passes over changes in flight.
func (s *Home) flight(id string) (land func()) {
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

func (s *Home) inFlight() map[string]int {
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

func (s *Home) origin() string { return fmt.Sprintf("node-%d", s.cfg.Node) }

// ownerOf is the key a memory belongs to: its own in this protocol's namespace, else the operator's.
func (s *Home) ownerOf(namespace, owner string) string {
	if namespace == oplog.CovenantNamespace && owner != "" {
		return owner
	}
	return s.operator.Pubkey
}

func (s *Home) agentOf(r registration) AgentID {
	if r.Agent == nil {
		return s.operator
	}
	return *r.Agent
}

// identityOf finds the identity of a live token; nil for none.
func (s *Home) identityOf(ctx context.Context, token string) (*AgentID, error) {
	if err := s.known(ctx); err != nil {
		return nil, err
	}
	row, ok := s.peers.resolve(token)
	if !ok {
		return nil, nil
	}
	return new(s.agentOf(row)), nil
}

// write asks for a write, and waits for its answer no longer than the configuration says.
func write[Q, A any](ctx context.Context, s *Home, op api.Of[Q, A], request *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.WriteTimeout)
	defer cancel()
	return op.Ask(ctx, s.cfg.Memory, request)
}

// read asks for what the state holds. subject names the store in errors.
func read[Q, A any](ctx context.Context, s *Home, subject string, op api.Of[Q, A], request *Q) (*A, error) {
	a, err := op.Ask(ctx, s.cfg.Memory, request)
	return a, storeError(subject, err)
}

func now() uint64 { return millis(time.Now()) }

func toMillis(t oplog.Time) uint64 { return uint64(max(t, 0)) / 1000 }
