// Package home holds Covenant's state of one node: its own identity and the operator's, tokens, the signing of
// capabilities, the mailbox, the audit files, and the access to the memory. It handles no requests and no
// connections.
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

// Config configures a server. Home and Memory are required. Comments begin with the default of a zero value.
type Config struct {
	Home         string // COVENANT_HOME: the socket and this node's own files
	Memory       api.At
	Node         uint32        // id of this node in the cluster, stored in intents and grants
	Secret       string        // of the cluster; encrypts the operator's key that its nodes share; empty: they do not share it
	NoBootstrap  bool          // a new operator starts without any capability
	HTTP         string        // address of the HTTP mirror; empty: none
	Origins      []string      // http://localhost:3000; web pages that may use the mirror
	WriteTimeout time.Duration // 5s
	AuthTimeout  time.Duration // 30s; for a connection to authenticate
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

// Home holds a node's identity, tokens, mailbox and audit files, and its access to the memory.
type Home struct {
	*serve.Work
	Config  Config
	Audit   *audit.Log
	Mailbox *mailbox.Box
	Peers   *registry

	identity

	mu       sync.Mutex
	inFlight map[string]int // intents and grants whose audit row is not written yet

	rejections rejections
	files      []func() error // close functions, in the order of opening
}

// identity holds the key of this node and the operator.
type identity struct {
	local    ed25519.PrivateKey // key of this node; also the operator's key if this node was the first
	resolved chan struct{}      // closed when operator and signer are known
	Operator AgentID
	signer   ed25519.PrivateKey // nil when this node does not hold the operator's key
}

// New returns a home whose files are not open yet.
func New(cfg Config) *Home {
	cfg = cfg.withDefaults()
	return &Home{Work: serve.NewWork(cfg.Logger), Config: cfg, identity: identity{resolved: make(chan struct{})}, inFlight: map[string]int{}}
}

// OpenFiles opens the files. Their directories must exist.
func (h *Home) OpenFiles() (err error) {
	home := h.Config.Home
	if h.local, err = loadKey(filepath.Join(home, "identity", "local.key")); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	if h.Peers, err = openRegistry(filepath.Join(home, "peers", "registry.jsonl"), h.Config.Keys); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	h.files = append(h.files, func() error { return h.Peers.file.Close() }) // evaluated at the close, because a purge replaces the file
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

// RulesPath returns the path of the ignore rules. Every intent reads them again.
func (h *Home) RulesPath() string { return filepath.Join(h.Config.Home, ".covenantignore") }

// CloseFiles closes the files of OpenFiles.
func (h *Home) CloseFiles() (err error) {
	for _, f := range h.files {
		err = errors.Join(err, f())
	}
	return err
}

// TrackInFlight marks a change as in flight until done is called. verify skips changes in flight, because their state
// and audit row are not both written yet.
func (h *Home) TrackInFlight(id string) (done func()) {
	h.mu.Lock()
	h.inFlight[id]++
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.inFlight[id]--; h.inFlight[id] == 0 {
			delete(h.inFlight, id)
		}
	}
}

// InFlight returns the changes in flight.
func (h *Home) InFlight() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.inFlight)
}

// Millis converts a time to the milliseconds of the protocol.
func Millis(t time.Time) uint64 { return uint64(t.UnixMilli()) }

// StoreError converts an error of the memory to the error that the client gets. subject names the store: memory,
// permissions or peers.
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

// Record writes an audit row. Its type names the event; the other fields are those that consumers of the audit log
// expect.
func (h *Home) Record(issuer AgentID, row kit.Object) error {
	return h.PublicError(h.Audit.Append(protocol.NewID(), time.Now(), issuer, row), "audit row not written", errAudit)
}

// PublicError logs an error of this node's disk and returns public, which the client gets instead.
func (h *Home) PublicError(err error, message string, public error) error {
	if err == nil {
		return nil
	}
	h.Log.Error(message, "err", err)
	return public
}

// Origin returns the name of this node in memories.
func (h *Home) Origin() string { return fmt.Sprintf("node-%d", h.Config.Node) }

// OwnerOf returns the key of the owner of a memory. Memories of other protocols belong to the operator.
func (h *Home) OwnerOf(namespace, owner string) string {
	if namespace == oplog.CovenantNamespace && owner != "" {
		return owner
	}
	return h.Operator.Pubkey
}

// AgentOf returns the agent of a registration.
func (h *Home) AgentOf(r Registration) AgentID {
	if r.Agent == nil {
		return h.Operator
	}
	return *r.Agent
}

// IdentityOf returns the agent of a live token, or nil.
func (h *Home) IdentityOf(ctx context.Context, token string) (*AgentID, error) {
	if err := h.awaitOperator(ctx); err != nil {
		return nil, err
	}
	row, ok := h.Peers.Resolve(token)
	if !ok {
		return nil, nil
	}
	return new(h.AgentOf(row)), nil
}

// Write runs a writing operation with the configured timeout.
func Write[Q, A any](ctx context.Context, h *Home, op api.Of[Q, A], request *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Config.WriteTimeout)
	defer cancel()
	return op.Ask(ctx, h.Config.Memory, request)
}

// Read runs a reading operation. subject names the store in errors.
func Read[Q, A any](ctx context.Context, h *Home, subject string, op api.Of[Q, A], request *Q) (*A, error) {
	a, err := op.Ask(ctx, h.Config.Memory, request)
	return a, StoreError(subject, err)
}

// Now returns the time in milliseconds.
func Now() uint64 { return Millis(time.Now()) }

// ToMillis converts a stored time to milliseconds.
func ToMillis(t oplog.Time) uint64 { return uint64(max(t, 0)) / 1000 }
