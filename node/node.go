package node

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// A Node is a running Cairn node.
type Node struct {
	cfg  Config
	log  *slog.Logger
	keys *seal.Ring // nil: the home is not encrypted

	identity ed25519.PrivateKey // the identity of the home
	disk     *disk.Space
	state    *state.State
	index    *index.Index
	access   *access.Control
	commit   *commit.Log
	raft     *raft.Node
	window   *raft.Window // the newest records of the log, for the state
	service  *engine.Service
	surfaces
	certs map[string]*certs.Certificates // by the audience, clients or peers; complete once the log is open

	rotation rotation
	clock    clockWatch // used only by the task that watches leadership
	introduction
	lifecycle
}

// A lifecycle holds a node's tasks and the functions that stop it.
type lifecycle struct {
	ctx             context.Context
	cancel          context.CancelCauseFunc
	tasks           sync.WaitGroup
	serverClosers   []func() error // closes surfaces, then the log, before the tasks end; last opened, first closed
	resourceClosers []func() error // closes index, state and listeners, after the tasks have ended
}

// Open starts a node and returns once its surfaces listen. Ready tells when it serves writes. ctx bounds the opening,
// not the node's life. On error everything that was opened is closed.
func Open(ctx context.Context, cfg Config) (_ *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	cfg = cfg.withDefaults()
	n := &Node{cfg: cfg, log: cfg.Logger, certs: map[string]*certs.Certificates{}, window: raft.NewWindow(),
		surfaces:     newSurfaces(cfg.Limits),
		introduction: introduction{ready: make(chan struct{}), followed: make(chan struct{}, 1)}}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	if err := private.MakeDir(cfg.Home); err != nil {
		return nil, fmt.Errorf("home: %w", err)
	}
	if n.disk, err = disk.Open(cfg.Home, cfg.Storage.MinFree, n.log); err != nil {
		return nil, fmt.Errorf("home: %w", err)
	}
	older, err := n.openTokens()
	if err != nil {
		return nil, err
	}
	if n.cfg.Member.Secret, err = home.OpenSecret(cfg.Files()); err != nil {
		return nil, err
	}
	if n.identity, err = home.OpenIdentity(cfg.Home); err != nil {
		return nil, err
	}
	if n.keys, err = home.OpenKeys(ctx, cfg.Files()); err != nil {
		return nil, err
	}
	if n.keys.Rotating() {
		if err := home.RewriteKept(cfg.Files(), n.keys); err != nil {
			return nil, err
		}
	}
	if err := n.openListeners(ctx); err != nil {
		return nil, err
	}
	if err := n.openState(older); err != nil {
		return nil, err
	}
	if err := n.openIndexAndLog(ctx); err != nil {
		if errors.Is(err, state.ErrState) { // the next start would fail in the same way
			err = errors.Join(err, home.WriteNote(n.cfg.Files(), home.SuspectFile, err))
		}
		return nil, err
	}
	n.openService()
	return n, nil
}

func (n *Node) openListeners(ctx context.Context) (err error) {
	var own *certs.Certificates
	if n.cfg.TLS.Clients.On() {
		if own, err = certs.Open(n.cfg.TLS.Clients, n.log); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		n.certs["clients"] = own
	}
	if n.wireLn, err = n.listen(ctx, "wire", n.cfg.Addresses.Wire, &n.cfg.Addresses.AdvertiseWire); err != nil {
		return err
	}
	if n.httpLn, err = n.listen(ctx, "http", n.cfg.Addresses.HTTP, &n.cfg.Addresses.AdvertiseHTTP); err != nil {
		return err
	}
	n.wireLn = n.withTLS("wire", n.wireLn, own)
	n.httpLn = n.withTLS("http", n.httpLn, own, "h2", "http/1.1")
	return nil
}

func (n *Node) listen(ctx context.Context, name, addr string, advertise *string) (net.Listener, error) {
	ln, err := n.cfg.Seams.Listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("%s listener: %w", name, err)
	}
	n.resourceClosers = append(n.resourceClosers, func() error { return ignoreClosed(ln.Close()) })
	*advertise = cmp.Or(*advertise, advertisedAddr(ln.Addr().String(), n.cfg.Addresses.Advertise))
	return ln, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// openState opens the state and creates the service. A state that cannot be read is moved aside, kept and logged; the
// node starts empty, and the leader or the newest snapshot brings it up to date. older means that the home has no
// token, as homes of older versions.
func (n *Node) openState(older bool) (err error) {
	path := filepath.Join(n.cfg.Home, home.StateDir)
	if err := home.Usable(n.cfg.Home); err != nil {
		return err
	}
	opts := state.Options{RetainOps: n.cfg.Storage.RetainOps, RetainTime: n.cfg.Storage.RetainTime,
		NoSync: n.cfg.Seams.NoSync, Step: n.cfg.Storage.StateStep, Buffer: n.cfg.Storage.StateBuffer, Keys: n.keys, Records: n.window}
	if opts.Skip, err = home.Skipped(n.cfg.Home); err != nil {
		return err
	}
	for i, d := range opts.Skip {
		n.log.Warn("record of the log skipped, as the operator decided", "index", i, "sha256", d)
	}
	if err := home.SetAsideDamaged(n.cfg.Files(), path, opts); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if n.state, err = state.Open(path, opts); state.IsCorrupt(err) {
		aside, serr := home.SetAside(path)
		n.log.Error("state unreadable, moved aside", "path", path, "aside", aside, "err", err)
		if serr != nil {
			return fmt.Errorf("state: %w", serr)
		}
		n.state, err = state.Open(path, opts)
	}
	if err != nil {
		return err
	}
	n.resourceClosers = append(n.resourceClosers, n.state.Close)
	n.spawn("state", func(ctx context.Context) error { // without this task, only the next write would notice a failed state
		failed, err := pause.Until(ctx, n.state.Failed())
		return cmp.Or(failed, err)
	})
	if older {
		if err := n.reviewOlderHome(); err != nil {
			return err
		}
	}
	n.access = access.New(access.Config{State: n.state, Secrets: n.cfg.tokenSecrets(), Complete: n.tokensComplete,
		DiskError: n.disk.Refusal, FailedLogins: n.cfg.Limits.FailedLogins,
		Latest: func(ctx context.Context) error { return n.commit.WaitLatest(ctx) }, Now: n.now})
	n.commit = commit.New(commit.Options{
		NodeID: n.cfg.Member.NodeID, State: n.state, Disk: n.disk, Logger: n.log, Heartbeat: n.cfg.Raft.Heartbeat,
		ApplyTimeout: n.cfg.Limits.ApplyTimeout, Slow: n.cfg.Surfaces.Slow,
		Audit: n.access.Audited, Observe: n.access.Follow, OnLeadership: n.onLeadershipCheck,
		NoQuorum: func() (why, until string) { return n.service.Cluster().NoQuorum() },
		Fail: func(err error) {
			if errors.Is(err, state.ErrState) { // a restart with the same files would fail in the same way
				err = errors.Join(err, home.WriteNote(n.cfg.Files(), home.SuspectFile, err))
			}
			n.cancel(n.explainUnapplied(err))
		},
	})
	return n.openEngine()
}

// openEngine creates the service around the state. Its operations that need index or log wait for them.
func (n *Node) openEngine() (err error) {
	at, member, limits := n.cfg.Addresses, n.cfg.Member, n.cfg.Limits
	n.service, err = engine.New(engine.Config{
		Logger: n.log, State: n.state, Commit: n.commit, Access: n.access, Disk: n.disk, Keys: n.keys, Budget: n.byteBudget,
		Home: engine.Home{Dir: n.cfg.Home, Models: filepath.Join(n.cfg.Home, "models"),
			Spool: filepath.Join(n.cfg.Home, "backup-spool"), Leftovers: n.leftovers, Identity: n.identity,
			Certificates: n.shownCertificates, Ports: n.ports},
		Member: operate.Member{NodeID: member.NodeID, Role: member.Role, Version: n.cfg.Version, Wire: at.AdvertiseWire,
			HTTP:      at.AdvertiseHTTP,
			Clustered: len(member.Peers) > 0, Election: n.cfg.Raft.Election},
		Scheme: n.scheme(), Limits: engine.Limits{ApplyTimeout: limits.ApplyTimeout, MaxDatabases: limits.MaxDatabases},
		Slow:       n.cfg.Surfaces.Slow,
		Background: n.cfg.Background, Backup: n.cfg.Backup, Embedder: n.cfg.Embedder, Reranker: n.cfg.Reranker,
	})
	return err
}

// openIndexAndLog opens both at once, because each may read a lot. The index needs only the window of the log, which
// is available as soon as the log's files are open. Records that the log delivers meanwhile are applied, and the
// commit log waits for the index to follow. Once the index is open, the surfaces answer requests that need no log.
func (n *Node) openIndexAndLog(ctx context.Context) error {
	log := make(chan error, 1)
	openCtx, cancelOpen := context.WithCancel(ctx)
	defer cancelOpen()
	go func() {
		err := n.openRaft(ctx)
		if err != nil {
			cancelOpen() // before the window is given up, or the index would read the whole state to repair supposed damage
		}
		n.window.GiveUp() // in case the log did not open it
		log <- err
	}()
	x, at, err := index.Open(openCtx, index.Config{Dir: filepath.Join(n.cfg.Home, "index"), State: n.state, Logger: n.log, Keys: n.keys,
		Small: index.SmallRows, Idle: max(n.cfg.Indexes.Idle, 0), MaxOpen: max(n.cfg.Indexes.MaxOpen, 0)})
	if err == nil {
		n.resourceClosers = append(n.resourceClosers, x.Close)
		n.index = x
		n.service.SetIndex(x)
		n.commit.SetIndex(x, at)
	}
	n.serverClosers = append(n.serverClosers, func() error {
		n.commit.Stop() // first, because raft's Close waits for Apply
		if n.raft == nil {
			return nil
		}
		return n.raft.Close()
	})
	if err == nil {
		err = n.openSurfaces()
	}
	if failed := <-log; failed != nil {
		return failed // the cause, also of a cancelled opening of the index
	}
	return err
}

// openService starts the tasks and lets the service answer all requests.
func (n *Node) openService() {
	n.service.Start(n.raft, n.spawn)
	n.commit.Start(n.raft, n.spawn)
	n.spawn("introduce", n.introduce)
	n.spawn("space", n.watchSpace)
	n.spawn("token usage", func(ctx context.Context) error { return n.access.ReportUsage(ctx, n.cfg.Tokens.Uses, n.service, n.log) })
	n.spawn("scrub", n.scrub)
	n.spawn("index", n.watchIndex)
	n.spawn("erase", n.erase)
	if n.keys.Rotating() {
		n.spawn("rotate", n.rotate)
	}
}

// Keys returns the keys that encrypt this node's files, for files of other surfaces; nil if the node does not
// encrypt.
func (n *Node) Keys() *seal.Ring { return n.keys }

// State returns the state, for tests that compare nodes. Surfaces use the Service.
func (n *Node) State() *state.State { return n.state }

// Service returns the memory service, for surfaces in this process.
func (n *Node) Service() *engine.Service { return n.service }

// Host returns the interface to the node for the dialects of this host.
func (n *Node) Host() api.Host {
	return struct {
		*engine.Service
		*access.Control
	}{n.service, n.access}
}

// Access returns the access control, for surfaces in this process.
func (n *Node) Access() *access.Control { return n.access }

// Secret returns the cluster secret, for surfaces that seal data with it.
func (n *Node) Secret() string { return n.cfg.Member.Secret }

// Addrs holds the addresses that the node listens on. Cluster is empty if no peer port is open.
type Addrs struct{ Wire, HTTP, Cluster string }

// Addrs returns the bound addresses.
func (n *Node) Addrs() Addrs {
	return Addrs{Wire: n.wireLn.Addr().String(), HTTP: n.httpLn.Addr().String(), Cluster: n.raft.Addr()}
}

// Ready returns once the node serves reads and writes: a leader is known, and the state has this node's addresses.
func (n *Node) Ready(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-n.ctx.Done():
		return n.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Snapshot makes the log take a snapshot of the state and waits until it is stored, for measurements.
func (n *Node) Snapshot() error { return n.raft.Snapshot() }

// Done returns a channel that is closed when the node stops, by Close or because a task failed. Err returns the
// reason.
func (n *Node) Done() <-chan struct{} { return n.ctx.Done() }

var errClosing = errors.New("closed")

// Err returns the reason why the node stopped: nil while it runs and after Close.
func (n *Node) Err() error {
	if err := context.Cause(n.ctx); err != nil && !errors.Is(err, errClosing) {
		return err
	}
	return nil
}

// spawn runs a task for the node's life. The first task to fail stops the node; the cause names it.
func (n *Node) spawn(name string, task func(context.Context) error) {
	n.tasks.Go(func() {
		if err := task(n.ctx); err != nil && n.ctx.Err() == nil {
			n.log.Error("task failed", "task", name, "err", err)
			n.cancel(fmt.Errorf("%s: %w", name, err))
		}
	})
}

// Close stops the surfaces first, then leadership and consensus, the tasks, and the state last. It may be called
// twice.
func (n *Node) Close() error {
	errs := closeAll(&n.serverClosers)
	n.cancel(errClosing)
	n.tasks.Wait()
	return errors.Join(append(errs, closeAll(&n.resourceClosers)...)...)
}

// closeAll calls the functions of a list, the last first, and empties it.
func closeAll(closers *[]func() error) (errs []error) {
	for _, f := range slices.Backward(*closers) {
		errs = append(errs, f())
	}
	*closers = nil
	return errs
}
