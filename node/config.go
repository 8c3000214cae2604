package node

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/rerank"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/node/oauth"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire/accept"
)

// Config says what a node is, by subject. Home is required; a zero elsewhere means the default next to it.
type Config struct {
	Home    string       // data directory, created if absent
	Version string       // "dev"
	Logger  *slog.Logger // discards

	Addresses  Addresses
	Member     Member
	Raft       Raft
	Storage    Storage
	TLS        TLS
	Limits     Limits
	Surfaces   Surfaces
	Tokens     Tokens
	OAuth      oauth.Settings     // the issuer of access tokens for /mcp; none where it is blank
	Background engine.Background  // what the leader does by itself
	Indexes    Indexes            // of the databases, in memory
	Backup     operate.BackupPlan // none without a directory
	Embedder   embed.Embedder     // none: vectors are the clients' own
	Reranker   *rerank.Reranker   // none: the order is the index's own
	Seams      Seams
}

// Addresses holds the addresses that a node listens on, and those that others dial to reach it.
type Addresses struct {
	Wire    string // 127.0.0.1:7437: the clients' wire protocol; port 0 picks one
	HTTP    string // 127.0.0.1:7438: the gateway
	Cluster string // peers; none: no peer port is open, 127.0.0.1:7440 where there are Peers

	Advertise     string // Cluster: the address peers dial
	AdvertiseWire string // Wire: the address clients are sent to
	AdvertiseHTTP string // HTTP, as host:port
}

// Member identifies the node in its cluster and names the other members.
type Member struct {
	NodeID       uint32   // 1
	Role         string   // voter; or read_replica
	Secret       string   // shared by the members, at least MinSecret long; that of the home's SecretFile
	OtherSecrets []string // valid next to Secret while one is changed for another; not shown to others
	Peers        []string // the other members; empty for a cluster of one
	FixedKeys    bool     // an emptied member, which has a new key, waits until an operator removes it
}

// Raft sets the timing and the sizes of the members' log.
type Raft = raft.Timing

// Storage configures what a node keeps on its disk, and how.
type Storage struct {
	RetainOps  int           // 1,000,000 operations served to OPLOG_PULL
	RetainTime time.Duration // 7 days
	Encryption seal.Source   // the master key of the home's files; they are plain when zero
	// what surfaces of this host seal as well: brought under a new data key before Open returns; none
	Kept func(*seal.Ring) ([]home.Kept, error)
	// 6 to 8 MiB, by the node's number: of changes to the state that gather in memory before they are flushed
	StateBuffer int
	MinFree     uint64        // 64 MiB of disk; with less, writes are rejected
	ScrubEvery  time.Duration // 6h: between two verifications of the state; one comes at the start

	StateStep func(op, path string, do func() error) error // store.Options.Step: a seam for faults
}

// Indexes bounds what the indexes of databases take while these are not used.
type Indexes struct {
	Idle    time.Duration // 5m: after which an index that is not used is closed; negative: never
	MaxOpen int           // 128: indexes that are open at once, about; negative: no bound
}

// TLS names the certificates of a node.
type TLS struct {
	Clients certs.Files // secures Wire and HTTP; plain when zero
	Peers   certs.Files // secures Cluster, from both sides; plain when zero

	PlainPeers bool // Cluster may be plain off loopback, where every machine on the way can read and change what members say
}

// Limits bound what clients may ask and how long they may take.
type Limits struct {
	MaxConns      int           // 4096 on each of Wire and HTTP, but at most a quarter of the descriptors that this process may open
	MaxConnsPerIP int           // 100 on each of Wire and HTTP; loopback is exempt
	MaxInFlight   int           // 1024 requests in progress on each port of clients
	MaxRPS        int           // 10,000 operations a second of one token over HTTP, where nothing else is agreed on; negative for no limit
	MaxDatabases  int           // 100 that the tokens of one database may make; those that may admin are not bounded; negative for no bound
	FailedLogins  int           // 100 wrong tokens from one address at once, and one a second after that
	ApplyTimeout  time.Duration // 10s: from proposal to applied
	AuthTimeout   time.Duration // 10s: to the first frame

	writeTimeout time.Duration // 30s: a wire client that reads nothing for this long is dropped
}

// Surfaces configures how the clients' ports behave.
type Surfaces struct {
	// nil: a follower's gateway passes writes on and its wire port rejects them; true: both pass them on; false: the
	// gateway answers 307 with the leader's address
	ForwardWrites *bool
	Lenient       bool          // requests are taken as the oldest clients send them: see fields
	CORSOrigins   []string      // origins whose pages may ask the gateway, * for all; none
	Slow          time.Duration // 1s: an operation that takes as long is logged; negative for none
}

// Tokens configures which tokens the node accepts from clients, and which one it makes.
type Tokens struct {
	NoMaster   bool          // the cluster secret is not a client token
	EnsureHome bool          // write an admin token of database "default" to HOME/token if there is none
	ByHome     bool          // decide both by the home: a new one has a token and no master
	Uses       time.Duration // 5m: how often the cluster is told when tokens were used last
}

// Seams let tests inject faults.
type Seams = raft.Seams

// Files returns the part of the configuration that concerns the node's files.
func (c Config) Files() home.Config {
	c = c.withDefaults()
	return home.Config{Dir: c.Home, Logger: c.Logger, Encryption: c.Storage.Encryption, Kept: c.Storage.Kept,
		RetainOps: c.Storage.RetainOps, RetainTime: c.Storage.RetainTime,
		NodeID: c.Member.NodeID, Secret: c.Member.Secret, Peers: len(c.Member.Peers) > 0, Addr: c.Addresses.Cluster,
		Advertise: cmp.Or(c.Addresses.Advertise, c.Addresses.Cluster)}
}

// forwards reports whether a follower's port passes writes on, which it does usually or not.
func (s Surfaces) forwards(usually bool) bool {
	return s.ForwardWrites == nil && usually || s.ForwardWrites != nil && *s.ForwardWrites
}

// tokenSecrets are the cluster's secrets as far as clients may show them as tokens.
func (c Config) tokenSecrets() []string {
	if c.Tokens.NoMaster {
		return nil
	}
	return append([]string{c.Member.Secret}, c.Member.OtherSecrets...)
}

// stateBuffer is the largest default of StateBuffer. Members apply the same records: with buffers of one size all of
// them would flush at the same record, and no quorum would have a disk and a processor to itself.
const stateBuffer = 8 << 20

func (c Config) withDefaults() Config {
	c.Version = cmp.Or(c.Version, "dev")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Addresses = c.Addresses.withDefaults(len(c.Member.Peers) > 0)
	c.Member.NodeID = cmp.Or(c.Member.NodeID, 1)
	c.Member.Role = cmp.Or(c.Member.Role, raft.RoleVoter)
	c.Raft = c.Raft.WithDefaults()
	c.Seams = c.Seams.WithDefaults()
	c.Storage.StateBuffer = cmp.Or(c.Storage.StateBuffer, stateBuffer-int(c.Member.NodeID%3)<<20)
	c.Storage.MinFree = cmp.Or(c.Storage.MinFree, disk.DefaultMinFree)
	c.Storage.ScrubEvery = cmp.Or(c.Storage.ScrubEvery, 6*time.Hour)
	c.Limits = c.Limits.withDefaults()
	c.Surfaces.Slow = cmp.Or(c.Surfaces.Slow, time.Second)
	c.Tokens.Uses = cmp.Or(c.Tokens.Uses, 5*time.Minute)
	c.Background = c.Background.WithDefaults()
	c.Indexes.Idle = cmp.Or(c.Indexes.Idle, 5*time.Minute)
	c.Indexes.MaxOpen = cmp.Or(c.Indexes.MaxOpen, 128)
	return c
}

func (a Addresses) withDefaults(peers bool) Addresses {
	a.Wire = cmp.Or(a.Wire, "127.0.0.1:7437")
	a.HTTP = cmp.Or(a.HTTP, "127.0.0.1:7438")
	if peers {
		a.Cluster = cmp.Or(a.Cluster, "127.0.0.1:7440")
	}
	return a
}

func (l Limits) withDefaults() Limits {
	l.MaxConns = accept.Share(cmp.Or(l.MaxConns, 4096), 4)
	l.MaxConnsPerIP = cmp.Or(l.MaxConnsPerIP, 100)
	l.MaxInFlight = cmp.Or(l.MaxInFlight, 1024)
	l.MaxRPS = cmp.Or(l.MaxRPS, 10_000)
	l.MaxDatabases = cmp.Or(l.MaxDatabases, 100)
	l.FailedLogins = cmp.Or(l.FailedLogins, 100)
	l.ApplyTimeout = cmp.Or(l.ApplyTimeout, 10*time.Second)
	l.AuthTimeout = cmp.Or(l.AuthTimeout, 10*time.Second)
	l.writeTimeout = cmp.Or(l.writeTimeout, 30*time.Second)
	return l
}

// Validate names every fault at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var home error
	if c.Home == "" {
		home = errors.New("home: name a data directory")
	}
	return errors.Join(home, c.Addresses.validate(), c.Member.validate(), validateTiming(c.Raft), c.TLS.Clients.Validate("tls", false),
		c.TLS.Peers.Validate("tls.cluster", true), c.OAuth.Validate(), c.Surfaces.validate(), c.reachable(), c.securePeers())
}

// validate rejects origins that no browser sends.
func (s Surfaces) validate() error {
	var errs []error
	for _, o := range s.CORSOrigins {
		u, err := url.Parse(o)
		if o != "*" && (err != nil || u.Host == "" || o != strings.ToLower(u.Scheme+"://"+u.Host)) {
			errs = append(errs,
				fmt.Errorf("server.cors_origins: %q: want scheme://host or scheme://host:port in lower case, as in https://app.example, or * for all", o))
		}
	}
	return errors.Join(errs...)
}

func (a Addresses) validate() error {
	err := errors.Join(checkAddr("wire", a.Wire), checkAddr("http", a.HTTP))
	if a.Cluster != "" {
		err = errors.Join(err, checkAddr("cluster", a.Cluster))
	}
	return err
}

func checkAddr(name, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (m Member) validate() error {
	var errs []error
	switch m.Role {
	case raft.RoleVoter, raft.RoleReadReplica:
	case "witness":
		errs = append(errs, errors.New("role witness is not supported: use a third small voter instead"))
	default:
		errs = append(errs, fmt.Errorf("role %q: want voter or read_replica", m.Role))
	}
	if m.Secret != "" {
		errs = append(errs, home.CheckSecret("cluster_secret", m.Secret))
	}
	for _, s := range m.OtherSecrets {
		errs = append(errs, home.CheckSecret("other_cluster_secret", s))
	}
	for i, p := range m.Peers {
		errs = append(errs, checkAddr(fmt.Sprintf("peer %d", i+1), p))
	}
	return errors.Join(errs...)
}

func validateTiming(r Raft) error {
	var errs []error
	if r.MaxClockOffset < 0 {
		errs = append(errs, fmt.Errorf("max_clock_offset_ms: %d is negative", r.MaxClockOffset.Milliseconds()))
	}
	if r.Election < 2*r.Heartbeat {
		errs = append(errs, fmt.Errorf("election timeout %s is under twice the heartbeat %s", r.Election, r.Heartbeat))
	}
	return errors.Join(errs...)
}
