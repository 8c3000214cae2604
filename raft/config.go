package raft

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/wire"
)

// The roles a node may be configured to.
const (
	RoleVoter       = "voter"
	RoleReadReplica = "read_replica"
)

// Config says what a member is. NodeID, Dir and Handler are required; a zero elsewhere means the default beside it.
type Config struct {
	NodeID    uint32
	Dir       string                       // the log, snapshots
	Addr      string                       // peer listener; port 0 picks one; none: no peer reaches this member, which must be the only one
	Advertise string                       // what peers dial; Addr
	Secret    string                       // what peers show; needed with Addr
	Others    []string                     // secrets that peers may show as well, while the one is being changed for the other
	Role      string                       // voter; or read_replica
	Peers     []string                     // the other members' peer addresses; empty starts a cluster of one
	Alone     bool                         // no other node is known to have been a member: the state here is all there is; see salvage.go
	Identity  ed25519.PrivateKey           // proves who this member is; nil proves nothing
	KeyOf     func(id uint32) (key string) // the public key, in hex, that the cluster knows of a member; empty when it knows none
	Voters    int                          // configured voters, this node included; len(Peers)+1

	Heartbeat         time.Duration // 1s: how often the leader is heard at least
	Election          time.Duration // 5s: silence after which followers elect
	SnapshotThreshold uint64        // 8192
	SnapshotInterval  time.Duration // 2m
	TrailingLogs      uint64        // 10240
	SegmentBytes      int64         // 8 MiB: of the log's files
	NoSync            bool          // for tests that measure something else
	Keys              *seal.Ring    // what the log and the snapshots are encrypted with; nil: they are not

	Now            func() time.Time     // time.Now; a seam for faults
	Elapsed        func() time.Duration // since the machine started, with the time it slept; a seam for simulations
	MaxClockOffset time.Duration        // 2s: how far a clock may be from the middle of the members' clocks

	Hello   func() wire.RaftHello                // what this node says of itself: cluster id, versions, client addresses
	Founds  func(record []byte) (cluster string) // the id that a record gives the cluster; blank for other records
	Handler Handler

	// Mutual TLS between members: both or neither. The configurations verify the other side's chain; raft compares its
	// certificate with the id it says hello with (see Identity).
	ServerTLS *tls.Config
	ClientTLS *tls.Config

	Dial   func(ctx context.Context, addr string) (net.Conn, error)     // TCP; a seam for faults
	Listen func(ctx context.Context, addr string) (net.Listener, error) // TCP; a seam for faults
	Logger *slog.Logger                                                 // discards

	LogFiles     logstore.FS                            // the machine's, for the log; a seam for faults
	SnapshotStep func(op string, do func() error) error // stands around each create, write and close of a snapshot; a seam for faults
	Failed       func(error)                            // told when the log's disk has failed, or another node has this one's id: this member must be stopped
	// Contradicted is told when the leader's log is not the one whose records are applied here: this member must be stopped, and
	// its state and log moved aside (Discard) before it is started again.
	Contradicted func(error)

	acceptLoss bool // a damaged log goes on without the records that no file has
}

// Handler answers what peers ask beyond consensus. Its methods are called from the connections' goroutines.
type Handler interface {
	// Forward takes an entry of another member into the log and returns what became of it.
	Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error)
	// Changed is told on the leader of a change of members that it made, or handed over for, and which node asked for it.
	Changed(ctx context.Context, from uint32, m wire.Membership)
	// Peer answers a frame that is not consensus: OPLOG_PULL, a foreign OPLOG_PUSH, lists, status.
	Peer(ctx context.Context, f wire.Frame) (wire.Frame, error)
}

// StateMachine is what the log drives.
type StateMachine interface {
	// Apply takes consecutive committed records and returns one result for each.
	Apply(batch []Record) []any
	// Applied is the last record whose effects the machine holds; those up to it are passed over by Apply. A crash may take
	// some of them away again: the log keeps what a snapshot does not hold.
	Applied() (index, term uint64)
	// Snapshot holds the state still; it is written while Apply goes on.
	Snapshot() (Snapshot, error)
	// Restore replaces the state, wholly or not at all.
	Restore(r io.Reader) error
}

// Snapshot is a state held still.
type Snapshot interface {
	WriteTo(w io.Writer) (int64, error)
	Release()
}

// Record is one committed log record; Data is empty for the log's own bookkeeping.
type Record struct {
	Index, Term uint64
	Data        []byte
}

// noPort stands for the address of a member that has no peer port: the library wants one of every member.
const noPort = "none"

// dialAddress is the address at which others dial a member; empty for one without a peer port.
func dialAddress(addr string) string {
	if addr == noPort {
		return ""
	}
	return addr
}

func (c Config) withDefaults() Config {
	c.Advertise = cmp.Or(c.Advertise, c.Addr, noPort)
	c.Role = cmp.Or(c.Role, RoleVoter)
	c.Voters = cmp.Or(c.Voters, len(c.Peers)+1)
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.Election = cmp.Or(c.Election, 5*time.Second)
	c.SnapshotThreshold = cmp.Or(c.SnapshotThreshold, 8192)
	c.SnapshotInterval = cmp.Or(c.SnapshotInterval, 2*time.Minute)
	c.TrailingLogs = cmp.Or(c.TrailingLogs, 10240)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Listen == nil {
		c.Listen = func(ctx context.Context, addr string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", addr)
		}
	}
	if c.Dial == nil {
		d := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	c.MaxClockOffset = cmp.Or(c.MaxClockOffset, 2*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Elapsed == nil {
		c.Elapsed = elapsed
	}
	if c.KeyOf == nil {
		c.KeyOf = func(uint32) string { return "" }
	}
	if c.Hello == nil {
		c.Hello = func() wire.RaftHello { return wire.RaftHello{} }
	}
	if c.Founds == nil {
		c.Founds = func([]byte) string { return "" }
	}
	return c
}
