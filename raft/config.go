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

// Roles of a node.
const (
	RoleVoter       = "voter"
	RoleReadReplica = "read_replica"
)

// Config configures a member. NodeID, Dir and Handler are required; for a zero value the comment names the default.
type Config struct {
	NodeID    uint32
	Dir       string   // of the log and the snapshots
	Addr      string   // peer listener; port 0 picks a port; empty: no peer reaches this member, which must be the only one
	Advertise string   // default Addr: the address that peers dial
	Role      string   // default voter; or read_replica
	Peers     []string // the other members' peer addresses; empty starts a cluster of one
	Alone     bool     // no other member is known, so this node has the only copy; see salvage.go
	Credentials
	Timing
	Keys   *seal.Ring   // encrypt the log and the snapshots; nil stores them in plain
	Logger *slog.Logger // default: discards

	Hello   func() wire.RaftHello                // returns this node's cluster id, versions and client addresses for its hello
	Founds  func(record []byte) (cluster string) // returns the cluster id that a record sets; blank for other records
	Handler Handler
	Window  *Window                   // opened with the log, for readers of applied records; may be nil
	Retain  func() uint64             // returns the first record that readers of Window need; nil: none
	Failed  func(error)               // must stop this member: the log's disk failed, or another node has this id
	Check   func(record []byte) error // rejects a record that this version cannot apply; nil: no check
	// StepAside is called when a majority of the voters holds other data than this member. The caller stops the
	// member, and moves its state and log aside (Discard) before the next start. lost holds the records in its log
	// that the others lack. If StepAside returns an error, the member goes on running.
	StepAside func(why error, lost Lost) error
	Seams

	acceptLoss bool // repair a damaged log without the records that no file has
}

// Credentials prove this member's identity and let it verify the others.
type Credentials struct {
	Secret   string                       // members prove that they know it; needed with Addr
	Others   []string                     // further secrets that this member accepts, while the secret is being changed
	Identity ed25519.PrivateKey           // proves this member's id; nil proves nothing
	KeyOf    func(id uint32) (key string) // returns a member's logged public key, in hex; empty if there is none
	// FixedKeys stops a leader from accepting a new key for a member: the logged key stays, and a member whose home
	// was emptied waits until an operator removes it.
	FixedKeys bool

	// Mutual TLS between members: both or neither. The configurations verify the other side's chain; raft compares its
	// certificate with the id it says hello with (see Identity).
	ServerTLS *tls.Config
	ClientTLS *tls.Config
}

// Timing sets the intervals of messages, the allowed difference of clocks, and the amount of log to keep.
type Timing struct {
	Heartbeat         time.Duration // 400ms: the longest time between two messages of the leader
	Election          time.Duration // 1.2s: leader's silence before an election; at least twice the heartbeat
	SnapshotThreshold uint64        // 8192: a snapshot is due after this many log entries since the last one
	SnapshotBytes     int64         // 64 MiB: or after about this many bytes of entries
	SnapshotAge       time.Duration // 1h: or when the oldest of these entries has this age
	SnapshotInterval  time.Duration // 2m: how often the library checks whether one is due
	TrailingLogs      uint64        // 10240: entries that a snapshot leaves in the log for members that were away
	TrailingBytes     int64         // 128 MiB: about the most bytes of those entries; each start reads them
	TrailingAge       time.Duration // 24h: about the greatest age of those entries
	SegmentBytes      int64         // 8 MiB: size of the log's segment files
	MaxClockOffset    time.Duration // 2s: how far a clock may be from the median of the members' clocks
}

// Seams let tests inject faults. The zero values are TCP, the machine's clock and its disk.
type Seams struct {
	Dial    func(ctx context.Context, addr string) (net.Conn, error) // to peers
	Listen  func(ctx context.Context, addr string) (net.Listener, error)
	Now     func() time.Time     // this member's clock
	Elapsed func() time.Duration // since the machine started, including sleep; jumps of the clock do not change it
	NoSync  bool                 // skips syncs: a crash of the machine loses the last acknowledged records

	LogFiles logstore.FS // file system of the log and the snapshots; default: the machine's
}

// Handler answers the requests of peers that are not part of consensus. Its methods are called from the connections'
// goroutines.
type Handler interface {
	// Forward proposes an entry that another member sent, and returns its outcome.
	Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error)
	// Changed is called on the leader after it changed the members or handed over leadership; from is the node that
	// requested it.
	Changed(ctx context.Context, from uint32, m wire.Membership)
	// Peer answers a frame outside consensus: OPLOG_PULL, a foreign OPLOG_PUSH, lists, status.
	Peer(ctx context.Context, f wire.Frame) (wire.Frame, error)
}

// StateMachine applies the log's records.
type StateMachine interface {
	// Apply applies consecutive committed records and returns one result for each.
	Apply(batch []Record) []any
	// Sums returns the hashes of the state at the last few indexes, the oldest first. Members compare them.
	Sums() []StateSum
	// Applied returns the last record that the state includes; Apply skips records up to it. A crash may take the
	// state back, so the log keeps every record that no snapshot includes.
	Applied() (index, term uint64)
	// Snapshot pins the state, so that it can be saved while Apply goes on.
	Snapshot() (Snapshot, error)
	// OpenSnapshot streams a saved snapshot of about size bytes, for Restore here or on another member. A snapshot
	// that does not end at the index that Save returned is damaged.
	OpenSnapshot(name string, index uint64) (state io.ReadCloser, size int64, err error)
	// RetainSnapshots removes all saved snapshots except the named ones. A snapshot that is being read is removed
	// when its reader closes.
	RetainSnapshots(names []string) error
	// Restore replaces the whole state, or changes nothing and returns an error.
	Restore(r io.Reader) error
}

// Snapshot is a pinned state.
type Snapshot interface {
	// Save stores the state on disk under a name, and returns the last record that the stored state includes. That
	// is the last one applied when the state was pinned, or a later one.
	Save(name string) (index, term uint64, err error)
	Release() // may be called twice
}

// Record is one committed log record; Data is empty for the log's own bookkeeping.
type Record struct {
	Index, Term uint64
	Data        []byte
}

// noPort is the address of a member without a peer port, because the library requires an address of every member.
const noPort = "none"

// dialAddress returns the address at which others dial a member; empty when it has no peer port.
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

// WithDefaults replaces zeros with the defaults.
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

// WithDefaults replaces nil with the defaults.
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
