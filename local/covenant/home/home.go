// Package home holds the state of one node for Covenant: its identity and the operator's, tokens, capabilities that it
// signs, the mailbox, the audit files, and the door to the memory behind them. It knows no request and no connection.
package home

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
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	atrest "github.com/cairndb/cairn/oplog/seal"
)

// Config says what a server is. Home and Memory are required; a zero elsewhere means the default next to it.
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
	if c.Origins == nil {
		c.Origins = []string{"http://localhost:3000"}
	}
	return c
}

// A Home holds one node's identity, tokens, mailbox and audit files, and the memory behind them.
type Home struct {
	*serve.Work
	Config  Config
	Audit   *audit.Log
	Mailbox *mailbox.Box
	Peers   *registry

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
	Operator AgentID
	signer   ed25519.PrivateKey // nil when this node does not hold the operator's key
}

// New makes a home that is not opened yet.
func New(cfg Config) *Home {
	cfg = cfg.withDefaults()
	return &Home{Work: serve.NewWork(cfg.Logger), Config: cfg, identity: identity{resolved: make(chan struct{})}, flights: map[string]int{}}
}

// OpenFiles opens the files; the directories are there.
func (h *Home) OpenFiles() (err error) {
	home := h.Config.Home
	if h.local, err = loadKey(filepath.Join(home, "identity", "local.key")); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if h.Peers, err = openRegistry(filepath.Join(home, "peers", "registry.jsonl"), h.Config.Keys); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	h.files = append(h.files, func() error { return h.Peers.file.Close() }) // a purge replaces it
	if err := h.Peers.operatorToken(h.TokenPath(), Now()); err != nil {
		return fmt.Errorf("operator token: %w", err)
	}
	if h.Audit, err = audit.Open(filepath.Join(home, "audit"), h.Config.Keys, h.Log); err != nil {
		return err
	}
	h.files = append(h.files, func() error {
		h.recordRejections()
		return h.Audit.Close()
	})
	if err := ignore.Ensure(h.RulesPath()); err != nil {
		return err
	}
	if h.Mailbox, err = mailbox.Open(filepath.Join(home, "a2a", "events.jsonl"), h.Config.Keys); err != nil {
		return err
	}
	h.files = append(h.files, h.Mailbox.Close)
	return nil
}

// TokenPath returns the path of the operator's token.
func (h *Home) TokenPath() string { return filepath.Join(h.Config.Home, "peers", "operator.token") }

// RulesPath returns the path of the ignore rules. They are read for each intent, as they are then.
func (h *Home) RulesPath() string { return filepath.Join(h.Config.Home, ".covenantignore") }

// CloseFiles closes what open has opened.
func (h *Home) CloseFiles() (err error) {
	for _, f := range h.files {
		err = errors.Join(err, f())
	}
	return err
}

// Flight notes that a change is on its way into state and audit; land ends it. verify passes over changes in flight.
func (h *Home) Flight(id string) (land func()) {
	h.mu.Lock()
	h.flights[id]++
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.flights[id]--; h.flights[id] == 0 {
			delete(h.flights, id)
		}
	}
}

// InFlight returns the changes that are on their way.
func (h *Home) InFlight() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.flights)
}

// Millis is a time as the protocol has it.
func Millis(t time.Time) uint64 { return uint64(t.UnixMilli()) }

// StoreError returns the error that a client reads for a failed read or write. subject names the store: memory,
// permissions, peers.
func StoreError(subject string, err error) error {
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

var errAudit = errors.New("audit write failed; refusing to proceed")

// Record writes an audit row: an object whose type says what happened, with the fields that consumers know.
func (h *Home) Record(issuer AgentID, row kit.Object) error {
	return h.Told(h.Audit.Append(protocol.NewID(), time.Now(), issuer, row), "audit row not written", errAudit)
}

// Told is the error that a client is told in place of one of this node's disk, which is logged.
func (h *Home) Told(err error, logged string, told error) error {
	if err == nil {
		return nil
	}
	h.Log.Error(logged, "err", err)
	return told
}

// Origin is this node's name in memories.
func (h *Home) Origin() string { return fmt.Sprintf("node-%d", h.Config.Node) }

// OwnerOf is the key a memory belongs to: its own in this protocol's namespace, else the operator's.
func (h *Home) OwnerOf(namespace, owner string) string {
	if namespace == oplog.CovenantNamespace && owner != "" {
		return owner
	}
	return h.Operator.Pubkey
}

// AgentOf returns whose a registration is.
func (h *Home) AgentOf(r Registration) AgentID {
	if r.Agent == nil {
		return h.Operator
	}
	return *r.Agent
}

// IdentityOf finds the identity of a live token; nil for none.
func (h *Home) IdentityOf(ctx context.Context, token string) (*AgentID, error) {
	if err := h.known(ctx); err != nil {
		return nil, err
	}
	row, ok := h.Peers.Resolve(token)
	if !ok {
		return nil, nil
	}
	return new(h.AgentOf(row)), nil
}

// Write asks for a write, and waits for its answer no longer than the configuration says.
func Write[Q, A any](ctx context.Context, h *Home, op api.Of[Q, A], request *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Config.WriteTimeout)
	defer cancel()
	return op.Ask(ctx, h.Config.Memory, request)
}

// Read asks for what the state holds. subject names the store in errors.
func Read[Q, A any](ctx context.Context, h *Home, subject string, op api.Of[Q, A], request *Q) (*A, error) {
	a, err := op.Ask(ctx, h.Config.Memory, request)
	return a, StoreError(subject, err)
}

// Now is the time as the protocol has it.
func Now() uint64 { return Millis(time.Now()) }

// ToMillis is a stored time as the protocol has it.
func ToMillis(t oplog.Time) uint64 { return uint64(max(t, 0)) / 1000 }
