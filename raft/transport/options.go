package transport

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"strconv"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// The purposes of connections: each has its own to each peer.
const (
	ForHeartbeat = "heartbeat"
	ForAppend    = "append"
	ForSnapshot  = "snapshot"
	ForForward   = "forward" // entries, and read indexes
	ForAsk       = "ask"     // the rest
)

// HelloTimeout bounds a handshake, and RPCTimeout an exchange.
const (
	HelloTimeout = 5 * time.Second
	RPCTimeout   = 10 * time.Second
)

// Options say who this member is on the network.
type Options struct {
	NodeID    uint32
	Advertise string             // what peers dial
	Secret    string             // members prove that they know it; foreign peers show it
	Others    []string           // further secrets that this member accepts
	Identity  ed25519.PrivateKey // proves who this member is; nil proves nothing
	Election  time.Duration      // the timeout of a heartbeat
	Dial      func(ctx context.Context, addr string) (net.Conn, error)
	ClientTLS *tls.Config // both or neither
	ServerTLS *tls.Config
	Log       *slog.Logger
}

// Host is the member whose transport this is. Its methods are called from any goroutine.
type Host interface {
	// Hello returns what this member says of itself to the node that answers at an address. It returns an error for
	// a node whose address that is not.
	Hello(answers uint32, addr, purpose string) (*wire.ClusterHello, error)
	// HelloOK answers a peer that showed the secret.
	HelloOK(h *wire.ClusterHello) *wire.ClusterHelloOK
	// CheckPeer is told a member's hello, whose Key is proved or empty. It rejects a peer of another cluster, of an
	// incompatible version, or with another member's id. Dialed is the address at which the peer answered; empty for
	// one that has dialed this member.
	CheckPeer(peer uint32, dialed string, h *wire.RaftHello) (wire.Code, error)
	// ConnectionLost is told that a connection of a leader to this member has ended.
	ConnectionLost(peer uint32)
	// Serve answers a frame of a peer. An error ends the connection.
	Serve(ctx context.Context, c *Inbound, f wire.Frame) error

	// LeaderFields returns what a leader sends to a member in addition to records or a heartbeat: what is committed
	// and acknowledged, and the time.
	LeaderFields(id uint32, a *hraft.AppendEntriesRequest) *wire.RaftAppend
	// Clocks is told what a member's clocks showed in an answer, and how long the exchange took.
	Clocks(id uint32, r *wire.RaftAppendReply, took time.Duration)
	// Answered is told a follower's answer to records.
	Answered(id uint32, r *wire.RaftAppendReply)
	// WaitAnswer returns when a peer that did not answer has answered a heartbeat, or need not be waited for.
	WaitAnswer(ctx context.Context, id uint32)
	// MayAskVotes returns why this member must ask for no votes; nil when it may ask.
	MayAskVotes() error
}

// ServerID is a member's id as the library has it.
func ServerID(id uint32) hraft.ServerID { return hraft.ServerID(strconv.FormatUint(uint64(id), 10)) }

// NodeID returns the id that ServerID encoded.
func NodeID(id hraft.ServerID) uint32 {
	v, _ := strconv.ParseUint(string(id), 10, 32) // ids are ours: ServerID made them
	return uint32(v)
}

// Micros encodes a clock's time for a message; 0, which means no time, for one before 1970.
func Micros(t time.Time) uint64 { return uint64(max(t.UnixMicro(), 0)) }

// FromMicros decodes a time that Micros encoded.
func FromMicros(us uint64) time.Time {
	if us == 0 || us > math.MaxInt64 {
		return time.Time{}
	}
	return time.UnixMicro(int64(us))
}

// IsHeartbeat reports whether an append is a heartbeat by the library's rule: no entries and no consistency check.
func IsHeartbeat(a *hraft.AppendEntriesRequest) bool {
	return len(a.Entries) == 0 && a.Term != 0 && a.Addr != nil && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && a.LeaderCommitIndex == 0
}
