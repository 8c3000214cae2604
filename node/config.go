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

// Config configures a node, by subject. Home is required. A zero value elsewhere means the default in the comment
// next to it.
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
	OAuth      oauth.Settings     // issuer of access tokens for /mcp; none if empty
	Background engine.Background  // background tasks of the leader
	Indexes    Indexes            // bounds of the in-memory indexes of databases
	Backup     operate.BackupPlan // scheduled backups; none without a directory
	Embedder   embed.Embedder     // nil: clients send vectors
	Reranker   *rerank.Reranker   // nil: results keep the order of the index
	Seams      Seams
}

// Addresses holds the addresses that a node listens on, and those that others dial to reach it.
type Addresses struct {
	Wire    string // default 127.0.0.1:7437: wire protocol of clients; port 0 picks one
	HTTP    string // default 127.0.0.1:7438: the gateway
	Cluster string // peer port; default 127.0.0.1:7440 with Peers, else none is open

	Advertise     string // address at which peers dial Cluster; default Cluster
	AdvertiseWire string // address of Wire for clients; default Wire
	AdvertiseHTTP string // address of HTTP for clients, as host:port; default HTTP
}

// Member identifies the node in its cluster and names the other members.
type Member struct {
	NodeID       uint32   // default 1
	Role         string   // voter (default) or read_replica
	Secret       string   // shared by the members, at least home.MinSecret long; default: the home's SecretFile
	OtherSecrets []string // also accepted from others, while the secret is being changed; not sent
	Peers        []string // the other members; empty for a cluster of one
	FixedKeys    bool     // a member that lost its home, and so has a new key, waits until an operator removes it
}

// Raft sets the timing and the sizes of the members' log.
type Raft = raft.Timing

// Storage configures the files of a node.
type Storage struct {
	RetainOps  int           // default 1,000,000: operations that OPLOG_PULL can read
	RetainTime time.Duration // default 7 days
	Encryption seal.Source   // the master key of the home's files; zero: they are plain
	// returns the files that other surfaces of this host seal; Open seals them again under a new data key
	Kept func(*seal.Ring) ([]home.Kept, error)
	// default 6 to 8 MiB, by NodeID: changes of the state that are buffered in memory before a flush
	StateBuffer int
	MinFree     uint64        // default 64 MiB: with less free disk space, writes are rejected
	ScrubEvery  time.Duration // default 6h: interval between verifications of the state; the first is at the start

	StateStep func(op, path string, do func() error) error // store.Options.Step, for injecting faults
}

// Indexes bounds the memory of unused indexes.
type Indexes struct {
	Idle    time.Duration // default 5m: an index that is unused for so long is closed; negative: never
	MaxOpen int           // default 128: approximate bound of open indexes; negative: none
}

// TLS names the certificates of a node.
type TLS struct {
	Clients certs.Files // secures Wire and HTTP; zero: plain text
	Peers   certs.Files // secures Cluster with mutual TLS; zero: plain text

	PlainPeers bool // allows plain text between members off loopback, where others on the network can read and change it
}

// Limits bounds the requests of clients. The comments begin with the defaults.
type Limits struct {
	MaxConns      int           // 4096 on each of Wire and HTTP, but at most a quarter of the process's file descriptors
	MaxConnsPerIP int           // 100 on each of Wire and HTTP; loopback is exempt
	MaxInFlight   int           // 1024 running requests on each of Wire and HTTP
	MaxRPS        int           // 10,000 operations a second over HTTP for a token without its own limit; negative: no limit
	MaxDatabases  int           // 100 that the tokens of one database may create; admin tokens are exempt; negative: no bound
	FailedLogins  int           // 100 wrong tokens of one address at once, then one a second
	ApplyTimeout  time.Duration // 10s: from proposal to applied
	AuthTimeout   time.Duration // 10s: to the first frame

	writeTimeout time.Duration // 30s: a wire client that reads nothing for so long is disconnected
}

// Surfaces configures the ports of clients.
type Surfaces struct {
	// nil: a follower's gateway forwards writes and its wire port rejects them; true: both forward them; false: the
	// wire port rejects them, and the gateway answers 307 with the leader's address
	ForwardWrites *bool
	Lenient       bool          // accepts requests of the oldest clients; see package wire/field
	CORSOrigins   []string      // origins whose pages may send requests to the gateway, * for all; default none
	Slow          time.Duration // default 1s: an operation that takes so long is logged; negative: none
}

// Tokens configures which tokens the node accepts from clients, and which one it creates.
type Tokens struct {
	NoMaster   bool          // the cluster secret is not a client token
	EnsureHome bool          // write an admin token of database "default" to HOME/token if there is none
	ByHome     bool          // sets both by the home: a new home has a token and no master
	Uses       time.Duration // default 5m: interval of reporting the last use of tokens to the cluster
}

// Seams are hooks with which tests inject faults.
type Seams = raft.Seams

// Files returns the part of the configuration that concerns the node's files.
func (c Config) Files() home.Config {
	c = c.withDefaults()
	return home.Config{Dir: c.Home, Logger: c.Logger, Encryption: c.Storage.Encryption, Kept: c.Storage.Kept,
		RetainOps: c.Storage.RetainOps, RetainTime: c.Storage.RetainTime,
		NodeID: c.Member.NodeID, Secret: c.Member.Secret, Peers: len(c.Member.Peers) > 0, Addr: c.Addresses.Cluster,
		Advertise: cmp.Or(c.Addresses.Advertise, c.Addresses.Cluster)}
}

// forwardWrites reports whether a follower's port forwards writes. byDefault is the answer if nothing is configured.
func (s Surfaces) forwardWrites(byDefault bool) bool {
	return s.ForwardWrites == nil && byDefault || s.ForwardWrites != nil && *s.ForwardWrites
}

// tokenSecrets returns the cluster secrets that clients may use as tokens.
func (c Config) tokenSecrets() []string {
	if c.Tokens.NoMaster {
		return nil
	}
	return append([]string{c.Member.Secret}, c.Member.OtherSecrets...)
}

// stateBuffer is the largest default of StateBuffer. Members apply the same records. With buffers of equal size all
// of them would flush at the same record, and each quorum would contain a member that is busy flushing.
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

// Validate returns all errors of the configuration at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var home error
	if c.Home == "" {
		home = errors.New("home: name a data directory")
	}
	return errors.Join(home, c.Addresses.validate(), c.Member.validate(), validateTiming(c.Raft), c.TLS.Clients.Validate("tls", false),
		c.TLS.Peers.Validate("tls.cluster", true), c.OAuth.Validate(), c.Surfaces.validate(), c.checkAdvertised(), c.checkPeerTLS())
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
