package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// Node is one member of the cluster. The embedded structs group fields by the file that owns them. members, contact,
// clocks, rounds and acks have one lock each; no two of them are held together, and none over I/O.
type Node struct {
	cfg       Config
	log       *slog.Logger
	transport *transport.Transport

	consensus
	lifetime
	storage
	rejoining
	failover
	agreement
	members
	forming

	readyTerm          atomic.Uint64                    // the term whose barrier this node has applied as leader; 0 if it does not lead
	rejected           atomic.Bool                      // see stopRejected
	offline            bool                             // for a stopped node or a Client: no damaged log is moved aside
	answeredHeartbeats chan *hraft.AppendEntriesRequest // answered, but not yet passed to the library; see heartbeat.go
	largeFrames        large.Turns                      // limits concurrent decoding of peers' large frames
	contact            contact
	clocks             clocks
	rounds             confirmations
	unreachable        sync.Map // members that do not answer this leader; see logReachability
}

// consensus holds hashicorp/raft and the state machine that it drives.
type consensus struct {
	raft    *hraft.Raft
	running atomic.Bool
	sm      StateMachine
	fsm     *fsm // the library's view of sm
	futures openFutures
}

// lifetime ends the member's tasks.
type lifetime struct {
	ctx     context.Context // ends when Close begins
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	stopped chan struct{} // closed when the library has shut down
}

// agreement tracks the records that this member and the others have acknowledged; see package recovery.
type agreement struct {
	acks     recovery.Acknowledged
	receipts []byte // the key of this member's receipts; see acknowledged.go
	disputes disputes
}

// members tracks the other members.
type members struct {
	mu      sync.Mutex
	peers   map[uint32]*peerState // see peer
	changed chan struct{}         // closed and replaced when the leader changes
	opened  time.Time             // when this node began to listen to others
	led     time.Time             // when this node last became leader
}

// peerState tracks another member. Only a leader knows its answers.
type peerState struct {
	lastLog      uint64
	lastSeen     time.Time
	uptimeMicros uint64        // the member's uptime in its last answer, by its own clock
	answered     chan struct{} // closed and replaced at each answer

	hello          *PeerVersion  // the version in its last hello; nil before the first hello since the start
	keySeen        time.Time     // when it last showed its logged key
	acceptedKey    acceptedKey   // the key that is accepted in place of the logged one; see keys.go
	promote        bool          // it joined as a voter and waits for its promotion
	failedHandOver uint64        // the term in which a hand-over to it failed
	probes         chan struct{} // holds a token for each unanswered question of checkQuorum
}

func newNode(cfg Config, sm StateMachine) *Node {
	found := new(damage.Files)
	n := &Node{cfg: cfg, log: cfg.Logger, consensus: consensus{sm: sm}, lifetime: lifetime{stopped: make(chan struct{})},
		largeFrames:        large.NewTurns(),
		answeredHeartbeats: make(chan *hraft.AppendEntriesRequest, 1),
		storage:            storage{snaps: newSnapshots(&cfg, found, sm), damaged: found},
		rejoining:          rejoining{leaders: make(chan hraft.Server, 1), markTurn: make(chan struct{}, 1)},
		failover:           failover{connectionsLost: make(chan uint32, 1)},
		members:            members{changed: make(chan struct{}), opened: time.Now()},
		agreement:          agreement{receipts: receiptKey(cfg.Identity), disputes: disputes{wake: make(chan struct{}, 1)}},
		rounds:             confirmations{turn: make(chan struct{}, 1)},
		clocks:             clocks{now: cfg.Now, elapsed: cfg.Elapsed, max: cfg.MaxClockOffset}}
	n.trailing.Store(cfg.TrailingLogs)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.transport = n.newTransport(nil)
	n.disk = &logstore.Disk{Ctx: n.ctx, Log: n.log, Failed: n.cfg.Failed, Leads: n.leads}
	return n
}

// Open starts the member: it listens, opens its log, and joins in consensus. ctx bounds only the opening.
func Open(ctx context.Context, cfg Config, sm StateMachine) (_ *Node, err error) {
	cfg = cfg.withDefaults()
	n := newNode(cfg, sm)
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	if err := n.makeDirs(); err != nil {
		return nil, err
	}
	if err := n.listen(ctx); err != nil {
		return nil, fmt.Errorf("peer listener: %w", err)
	}
	if err := n.acks.Load(n.acknowledgedFile()); err != nil {
		n.log.Warn("acknowledged records of members: file unreadable, starting without", "err", err)
	}
	if err := n.start(); err != nil {
		return nil, err
	}
	n.transport.Serve()
	if others := n.Others(); !n.listens() && len(others) > 0 {
		return nil, fmt.Errorf("the log names other members (nodes %v), and this node has no peer port: configure its peers or [cluster] cluster_port", others)
	}
	n.tasks.Go(n.watch)
	n.tasks.Go(n.form)
	n.tasks.Go(n.promote)
	n.tasks.Go(n.rejoin)
	n.tasks.Go(n.replaceDamagedSnapshots)
	n.tasks.Go(n.snapshotWhenDue)
	n.tasks.Go(n.fastFailover)
	n.tasks.Go(n.deliverHeartbeats)
	n.tasks.Go(n.storeAcknowledged)
	n.tasks.Go(n.resolveDisputes)
	n.tasks.Go(n.compareStates)
	return n, nil
}

// listen opens the peer port if one is configured. It requires a secret, because without one any node could connect.
func (n *Node) listen(ctx context.Context) error {
	if n.cfg.Addr == "" {
		return nil
	}
	if n.cfg.Secret == "" {
		return errors.New("a peer port needs a cluster secret")
	}
	ln, err := n.cfg.Listen(ctx, n.cfg.Addr)
	if err != nil {
		return err
	}
	if _, port, _ := net.SplitHostPort(n.cfg.Advertise); port == "0" {
		n.cfg.Advertise = ln.Addr().String()
	}
	n.transport = n.newTransport(ln)
	return nil
}

// makeDirs makes the directories of a new member.
func (n *Node) makeDirs() error {
	if err := n.cfg.LogFiles.MkdirAll(n.snaps.dir); err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	return nil
}

// start opens the log and the library.
func (n *Node) start() error {
	if err := n.openLog(); err != nil {
		return err
	}
	if err := n.snaps.dropUnfinished(); err != nil { // the log is locked now, so no other process writes a snapshot
		return fmt.Errorf("snapshots: %w", err)
	}
	if err := n.markIfEmpty(); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	if n.cfg.Window != nil {
		n.cfg.Window.open(n.logs)
	}
	n.records = &logstore.Cache{LogStore: &logstore.Failstop{LogStore: n.logs, Disk: n.disk}}
	last, err := n.snaps.newest()
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	if err := n.dropSuperseded(last.Index, last.Term); err != nil && !logstore.LacksSpace(err) {
		return fmt.Errorf("raft log: %w", err)
	}
	if n.lastAtOpen, err = n.logs.LastIndex(); err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	n.fsm = &fsm{sm: n.sm, disk: n.logs.WaitSynced, node: n}
	n.raft, err = hraft.NewRaft(n.library(), n.fsm, n.records, logstore.RetryingStable{StableStore: n.votes, Disk: n.disk},
		n.snaps, n.transport)
	if err != nil {
		return fmt.Errorf("raft: %w", err)
	}
	n.running.Store(true)
	n.disk.Started()
	return n.disk.Err()
}

// library returns the library's configuration. The library considers a leader dead after one to two HeartbeatTimeouts
// of silence and sends heartbeats at a tenth of that; it repeats a split vote after one to two ElectionTimeouts. With
// six tenths of Election for both, a leader is replaced within about 2.4 elections even if one vote splits.
func (n *Node) library() *hraft.Config {
	c := hraft.DefaultConfig()
	c.LocalID = transport.ServerID(n.cfg.NodeID)
	c.HeartbeatTimeout = n.cfg.Election * 6 / 10
	c.ElectionTimeout = n.cfg.Election * 6 / 10
	c.LeaderLeaseTimeout = n.lease()
	c.CommitTimeout = min(20*time.Millisecond, n.cfg.Heartbeat/2) // the longest delay before followers learn of a commit
	// records in memory at once, for each follower and for applying; the library counts records and not bytes
	c.MaxAppendEntries = 64
	// A record in a buffered queue would never be answered after Shutdown; the leader forms batches either way.
	c.BatchApplyCh = false
	c.SnapshotThreshold = n.cfg.SnapshotThreshold
	c.SnapshotInterval = n.cfg.SnapshotInterval
	c.TrailingLogs = n.cfg.TrailingLogs
	c.Logger = newLogger(n.log)
	c.ShutdownOnRemove = false
	// The state knows its own index; it is restored only if it is older than the newest snapshot.
	last, err := n.snaps.newest()
	c.NoSnapshotRestoreOnStart = err == nil && n.stateCovers(last.Index)
	return c
}

// stateCovers reports whether the state has applied every one of its records up to an index. The library labels a
// snapshot with the last record of the log, which may be one of the library's own (a barrier or a noop).
func (n *Node) stateCovers(upTo uint64) bool {
	applied, _ := n.sm.Applied()
	for i := applied + 1; i <= upTo; i++ {
		var l hraft.Log
		if err := n.logs.GetLog(i, &l); err != nil || l.Type != hraft.LogBarrier && l.Type != hraft.LogNoop {
			return false
		}
	}
	return true
}

// Close hands leadership over, closes the connections to peers, and stops. It closes connections before the library,
// because the library waits for requests that a peer may never answer. Close may be called twice.
func (n *Node) Close() error {
	if n.ctx.Err() != nil {
		n.tasks.Wait()
		return nil
	}
	var errs []error
	if n.raft != nil && n.raft.State() == hraft.Leader && len(n.servers()) > 1 {
		if err := n.handOver(); err != nil {
			n.log.Info("leadership not handed over", "err", err)
		}
	}
	n.rounds.mu.Lock() // no round begins after this
	n.cancel()
	n.rounds.mu.Unlock()
	errs = append(errs, n.transport.Close())
	if n.raft != nil {
		// Shutdown drops the batches that wait for the one being applied
		for before := n.fsm.steps.Load(); !n.futures.drain(min(n.cfg.Election, time.Second)); {
			now := n.fsm.steps.Load()
			if now == before && now%2 == 0 {
				break // no batch is being applied, and none began since the last check
			}
			before = now
		}
		errs = append(errs, n.raft.Shutdown().Error())
	}
	close(n.stopped)
	n.transport.Wait() // first, because a running request may begin tasks
	n.tasks.Wait()
	return errors.Join(append(errs, n.closeStore())...)
}

// Snapshot takes a snapshot now and waits until it is stored. The library also takes them by itself.
func (n *Node) Snapshot() error { return n.raft.Snapshot().Error() }

// listens reports whether there is a peer port.
func (n *Node) listens() bool { _, ok := n.transport.Listens(); return ok }

// LogBusy returns how long the log has been writing and syncing records, one append at a time.
func (n *Node) LogBusy() time.Duration { return n.logs.Busy() }

// Addr returns the listener's address; empty without one.
func (n *Node) Addr() string {
	addr, _ := n.transport.Listens()
	return addr
}

// Advertised returns the address that this node tells its peers; empty when it has no peer port.
func (n *Node) Advertised() string { return dialAddress(n.cfg.Advertise) }

// hello returns this node's hello to a peer; to is 0 if the peer's id is not known yet.
func (n *Node) hello(to uint32, purpose string) *wire.ClusterHello {
	h := n.cfg.Hello()
	h.Purpose, h.HasState, h.Stateless = purpose, !n.isEmpty(), n.stateless()
	acked := n.acks.Of(to)
	h.AckTerm, h.AckIndex, h.Receipt = acked.Term, acked.Index, acked.Receipt
	committed := n.committedPosition()
	h.CommitTerm, h.CommitIndex = committed.Term, committed.Index
	return &wire.ClusterHello{NodeID: n.cfg.NodeID, Role: n.cfg.Role, CurrentTerm: n.Term(),
		AdvertiseAddr: n.cfg.Advertise, ProtocolVersion: wire.Version, Raft: &h}
}

// membersWithin returns the newest configuration in the records after after and up to upTo, and its index; 0 if there
// is none. The library knows the members, but not the index of their record.
func (n *Node) membersWithin(after, upTo uint64) (c hraft.Configuration, at uint64, err error) {
	for i := upTo; i > after; i-- {
		var l hraft.Log
		if err := n.logs.GetLog(i, &l); err != nil {
			return c, 0, err
		}
		if l.Type == hraft.LogConfiguration {
			return hraft.DecodeConfiguration(l.Data), i, nil
		}
	}
	return c, 0, nil
}

// servers returns a copy of the members of the latest configuration: the library returns its own list, which must not
// change.
func (n *Node) servers() []hraft.Server {
	if n.raft == nil {
		return nil
	}
	f := n.raft.GetConfiguration()
	if f.Error() != nil {
		return nil
	}
	return slices.Clone(f.Configuration().Servers)
}

// Alone reports whether this node is the only member of its cluster.
func (n *Node) Alone() bool {
	s := n.servers()
	return len(s) == 1 && s[0].ID == transport.ServerID(n.cfg.NodeID)
}

// voters returns the members that have a vote.
func (n *Node) voters() []hraft.Server {
	return slices.DeleteFunc(n.servers(), func(s hraft.Server) bool { return s.Suffrage != hraft.Voter })
}

// hasConfiguration reports whether this node belongs to a cluster.
func (n *Node) hasConfiguration() bool { return len(n.servers()) > 0 }

// Term returns the current term.
func (n *Node) Term() uint64 {
	if n.raft == nil {
		return 0
	}
	return n.raft.CurrentTerm()
}

// Leader returns the leader that this node knows. A candidate knows none. The library may still name the leader whose
// TimeoutNow made this node a candidate, if a heartbeat of that leader arrived in between.
func (n *Node) Leader() (id uint32, addr string, ok bool) {
	if n.raft == nil || n.raft.State() == hraft.Candidate {
		return 0, "", false
	}
	a, sid := n.raft.LeaderWithID()
	return transport.NodeID(sid), string(a), sid != ""
}

// IsLeader reports whether this node leads and has applied the barrier of its term.
func (n *Node) IsLeader() bool {
	t := n.readyTerm.Load()
	return t != 0 && n.raft.State() == hraft.Leader && t == n.Term()
}

// Changed returns a channel that is closed when the leader changes next; call it again after that.
func (n *Node) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func (n *Node) announceChange() {
	n.mu.Lock()
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
}
