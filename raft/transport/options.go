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

// Purposes of connections. Each purpose has its own connections to each peer.
const (
	ForHeartbeat = "heartbeat"
	ForAppend    = "append"
	ForSnapshot  = "snapshot"
	ForForward   = "forward" // entries, and read indexes
	ForAsk       = "ask"     // everything else
)

// HelloTimeout bounds a handshake, and RPCTimeout an exchange.
const (
	HelloTimeout = 5 * time.Second
	RPCTimeout   = 10 * time.Second
)

// Options configure a member's transport.
type Options struct {
	NodeID    uint32
	Advertise string             // the address that peers dial
	Secret    string             // members prove that they know it; foreign peers send it
	Others    []string           // further secrets that this member accepts
	Identity  ed25519.PrivateKey // proves this member's id; nil proves nothing
	Election  time.Duration      // the timeout of a heartbeat
	Dial      func(ctx context.Context, addr string) (net.Conn, error)
	ClientTLS *tls.Config // both or neither
	ServerTLS *tls.Config
	Log       *slog.Logger
}

// Host is the member that uses the transport. Its methods are called from any goroutine.
type Host interface {
	// Hello returns this member's hello to the node that answers at an address. It returns an error if the address
	// belongs to another node.
	Hello(answers uint32, addr, purpose string) (*wire.ClusterHello, error)
	// HelloOK returns the answer to a peer that proved the secret.
	HelloOK(h *wire.ClusterHello) *wire.ClusterHelloOK
	// CheckPeer checks a member's hello, whose Key is proved or empty. It rejects a peer of another cluster, of an
	// incompatible version, or with another member's id. dialed is the address at which the peer answered; it is
	// empty if the peer dialed this member.
	CheckPeer(peer uint32, dialed string, h *wire.RaftHello) (wire.Code, error)
	// ConnectionLost is called when a connection of a leader to this member has ended.
	ConnectionLost(peer uint32)
	// Serve answers a frame of a peer. An error ends the connection.
	Serve(ctx context.Context, c *Inbound, f wire.Frame) error

	// LeaderFields returns the fields that a leader sends to a member in addition to records or a heartbeat: the
	// committed and acknowledged positions, and the time.
	LeaderFields(id uint32, a *hraft.AppendEntriesRequest) *wire.RaftAppend
	// Clocks is called with the clock readings in a member's answer, and the duration of the exchange.
	Clocks(id uint32, r *wire.RaftAppendReply, took time.Duration)
	// Answered is called with a follower's answer to records.
	Answered(id uint32, r *wire.RaftAppendReply)
	// WaitAnswer waits until a silent peer has answered a heartbeat, or there is no more reason to wait for it.
	WaitAnswer(ctx context.Context, id uint32)
	// MayAskVotes returns nil, or the reason why this member must not request votes.
	MayAskVotes() error
}

// ServerID returns a member's id in the library's format.
func ServerID(id uint32) hraft.ServerID { return hraft.ServerID(strconv.FormatUint(uint64(id), 10)) }

// NodeID returns the id that ServerID encoded.
func NodeID(id hraft.ServerID) uint32 {
	v, _ := strconv.ParseUint(string(id), 10, 32) // ServerID made it
	return uint32(v)
}

// Micros encodes a clock's time for a message. A time before 1970 becomes 0, which means no time.
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
