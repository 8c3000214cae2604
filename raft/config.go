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

// Config says what a member is. NodeID, Dir and Handler are required; a zero elsewhere means the default next to it.
type Config struct {
	NodeID    uint32
	Dir       string   // the log, snapshots
	Addr      string   // peer listener; port 0 picks one; none: no peer reaches this member, which must be the only one
	Advertise string   // what peers dial; Addr
	Role      string   // voter; or read_replica
	Peers     []string // the other members' peer addresses; empty starts a cluster of one
	Alone     bool     // no other node is known to have been a member: the state here is all there is; see salvage.go
	Credentials
	Timing
	Keys   *seal.Ring   // what the log and the snapshots are encrypted with; nil: they are not
	Logger *slog.Logger // discards

	Hello   func() wire.RaftHello                // what this node says of itself: cluster id, versions, client addresses
	Founds  func(record []byte) (cluster string) // the id that a record gives the cluster; blank for other records
	Handler Handler
	Window  *Window                   // is opened with the log; nil: nobody reads applied records
	Retain  func() uint64             // the first record that they want; nil: none that the log can do without
	Failed  func(error)               // told when the log's disk has failed, or another node has this one's id: this member must be stopped
	Check   func(record []byte) error // returns why a record cannot be applied by this version: it is not stored; nil: nothing is checked
	// StepAside is told that a majority of the voters holds something else than this member: it must be stopped, and
	// its state and log moved aside (Discard) before it is started again. Lost are the records in its log that the
	// others lack. An error keeps it running.
	StepAside func(why error, lost Lost) error
	Seams

	acceptLoss bool // a damaged log goes on without the records that no file has
}

// Credentials let a member prove who it is, and recognise the others.
type Credentials struct {
	Secret   string                       // members prove that they know it; needed with Addr
	Others   []string                     // secrets that are good as well, while the one is being changed for the other
	Identity ed25519.PrivateKey           // proves who this member is; nil proves nothing
	KeyOf    func(id uint32) (key string) // the public key, in hex, that the log has for a member; empty when it has none
	// FixedKeys has this node, when it leads, take no other key for a member than the log has: an emptied member waits
	// until an operator removes it.
	FixedKeys bool

	// Mutual TLS between members: both or neither. The configurations verify the other side's chain; raft compares its
	// certificate with the id it says hello with (see Identity).
	ServerTLS *tls.Config
	ClientTLS *tls.Config
}

// Timing sets the intervals of messages, the allowed difference of clocks, and the amount of log to keep.
type Timing struct {
	Heartbeat         time.Duration // 400ms: how often the leader is heard at least
	Election          time.Duration // 1.2s: silence after which followers elect; at least twice the heartbeat
	SnapshotThreshold uint64        // 8192: log entries behind the last snapshot that make another due
	SnapshotBytes     int64         // 64 MiB: of them, about, make one due as well
	SnapshotAge       time.Duration // 1h: and so does the oldest of them
	SnapshotInterval  time.Duration // 2m: how often it is looked at
	TrailingLogs      uint64        // 10240: log entries that a snapshot leaves, for members that were away
	TrailingBytes     int64         // 128 MiB: of them, about; a start reads them
	TrailingAge       time.Duration // 24h: how old they are at most, about
	SegmentBytes      int64         // 8 MiB: of the log's files
	MaxClockOffset    time.Duration // 2s: how far a clock may be from the middle of the members' clocks
}

// Seams let tests inject faults. The zero values are TCP, the machine's clock and its disk.
type Seams struct {
	Dial    func(ctx context.Context, addr string) (net.Conn, error) // to peers
	Listen  func(ctx context.Context, addr string) (net.Listener, error)
	Now     func() time.Time     // this member's clock
	Elapsed func() time.Duration // since the machine started, with the time it slept; clocks that jump leave it alone
	NoSync  bool                 // a crash of the machine loses what was acknowledged last

	LogFiles logstore.FS // the machine's, for the log and the snapshots
}

// Handler answers what peers ask beyond consensus. Its methods are called from the connections' goroutines.
type Handler interface {
	// Forward takes an entry of another member into the log and returns what became of it.
	Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error)
	// Changed is told on the leader of a change of members that it made, or handed over for, and which node requested
	// it.
	Changed(ctx context.Context, from uint32, m wire.Membership)
	// Peer answers a frame that is not consensus: OPLOG_PULL, a foreign OPLOG_PUSH, lists, status.
	Peer(ctx context.Context, f wire.Frame) (wire.Frame, error)
}

// StateMachine is driven by the log.
type StateMachine interface {
	// Apply takes consecutive committed records and returns one result for each.
	Apply(batch []Record) []any
	// Sums are the hashes of the machine at the indexes that it has come to last, the oldest first. Members compare
	// them.
	Sums() []StateSum
	// Applied is the last record whose effects the machine holds; those up to it are passed over by Apply. A crash
	// may take some of them away again: the log keeps what a snapshot does not hold.
	Applied() (index, term uint64)
	// Snapshot pins the state; it is saved while Apply goes on.
	Snapshot() (Snapshot, error)
	// OpenSnapshot streams a saved snapshot of about size bytes, for Restore here or on another member. One that does
	// not end at the index that Save returned is damaged.
	OpenSnapshot(name string, index uint64) (state io.ReadCloser, size int64, err error)
	// RetainSnapshots removes all saved snapshots but those named. One that is being read goes when that ends.
	RetainSnapshots(names []string) error
	// Restore replaces the state, wholly or not at all.
	Restore(r io.Reader) error
}

// Snapshot is a pinned state.
type Snapshot interface {
	// Save keeps the state on the disk under a name, and returns the last record that it holds: one that was applied
	// when it was pinned, or a later one.
	Save(name string) (index, term uint64, err error)
	Release() // it may be called twice
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
	c.Timing = c.Timing.WithDefaults()
	c.Seams = c.Seams.WithDefaults()
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
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

// WithDefaults puts the defaults in the place of zeros.
func (t Timing) WithDefaults() Timing {
	t.Heartbeat = cmp.Or(t.Heartbeat, 400*time.Millisecond)
	t.Election = cmp.Or(t.Election, 1200*time.Millisecond)
	t.SnapshotThreshold = cmp.Or(t.SnapshotThreshold, 8192)
	t.SnapshotBytes = cmp.Or(t.SnapshotBytes, 64<<20)
	t.SnapshotAge = cmp.Or(t.SnapshotAge, time.Hour)
	t.SnapshotInterval = cmp.Or(t.SnapshotInterval, 2*time.Minute)
	t.TrailingLogs = cmp.Or(t.TrailingLogs, 10240)
	t.TrailingBytes = cmp.Or(t.TrailingBytes, 128<<20)
	t.TrailingAge = cmp.Or(t.TrailingAge, 24*time.Hour)
	t.MaxClockOffset = cmp.Or(t.MaxClockOffset, 2*time.Second)
	return t
}

// WithDefaults puts the defaults in the place of nil.
func (s Seams) WithDefaults() Seams {
	if s.Listen == nil {
		s.Listen = func(ctx context.Context, addr string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", addr)
		}
	}
	if s.Dial == nil {
		d := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
		s.Dial = func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Elapsed == nil {
		s.Elapsed = elapsed
	}
	if s.LogFiles == nil {
		s.LogFiles = logstore.OS{NoSync: s.NoSync}
	}
	return s
}
