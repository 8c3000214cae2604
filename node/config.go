package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/logstore"
)

// Config says what a node is. Home is required; a zero elsewhere means the default beside it.
type Config struct {
	Home string // data directory, created if absent

	Wire    string // 127.0.0.1:7437: the clients' wire protocol; port 0 picks one
	HTTP    string // 127.0.0.1:7438: the gateway
	Cluster string // peers; none: no peer port is open, 127.0.0.1:7440 where there are Peers

	NodeID        uint32   // 1
	Role          string   // voter; or read_replica
	Secret        string   // shared by the members, at least MinSecret long; that of the home's SecretFile
	OtherSecrets  []string // valid beside Secret while one is changed for another; not shown to others
	Advertise     string   // Cluster: the address peers dial
	AdvertiseWire string   // Wire: the address clients are sent to
	AdvertiseHTTP string   // HTTP, as host:port
	Peers         []Peer   // the other members; empty for a cluster of one

	Heartbeat         time.Duration // 1s
	Election          time.Duration // 5s
	SnapshotThreshold uint64        // 8192 log entries
	SnapshotInterval  time.Duration // 2m
	TrailingLogs      uint64        // 10240
	RetainOps         int           // 1,000,000 operations served to OPLOG_PULL
	RetainTime        time.Duration // 7 days

	TLS     TLSFiles // secures Wire and HTTP; plain when zero
	PeerTLS TLSFiles // secures Cluster, from both sides; plain when zero

	Encryption seal.Source // the master key of the home's files; they are plain when zero

	Backup BackupPlan // none without a directory

	ScrubEvery time.Duration // 6h: between two counts of whether the state holds what was written; one comes at the start

	MinFree uint64 // 64 MiB of disk; with less, writes are refused

	writeTimeout time.Duration // 30s: a wire client that reads nothing for this long is dropped

	ForwardWrites  *bool         // nil: a follower's gateway passes writes on and its wire port refuses them; true: both pass them on; false: the gateway answers 307 with the leader's address
	Lenient        bool          // requests are taken as the oldest clients send them: see fields
	NoMasterToken  bool          // the cluster secret is no client token
	MintToken      bool          // write a client token of database "default" to HOME/token if there is none
	Background     Background    // what the leader does by itself
	MaxConnsPerIP  int           // 100 on each of Wire and HTTP; loopback is exempt
	MaxConns       int           // 4096 on each of Wire and HTTP
	MaxInFlight    int           // 1024 requests over all connections
	MaxClockOffset time.Duration // 2s: how far this node\'s clock may be from the middle of the members\' clocks
	ApplyTimeout   time.Duration // 10s: from proposal to applied
	AuthTimeout    time.Duration // 10s: to the first frame
	CORSOrigins    []string      // origins whose pages may ask the gateway; none
	MaxDatabases   int           // 100 that the tokens of one database may make; those that may admin are not bounded; negative for no bound
	FailedLogins   int           // 100 wrong tokens from one address at once, and one a second after that
	MaxRPS         int           // 10,000 operations a second of one token over HTTP, where nothing else is agreed on; negative for no limit
	TokenUses      time.Duration // 5m: how often the cluster is told when tokens were used last
	Slow           time.Duration // 1s: an operation that takes as long is logged; negative for none
	Version        string        // "dev"

	Embedder embed.Embedder // none: vectors are the clients' own

	// Seams for faults. The zero values are TCP, TCP, the machine's clock and a disk that is waited for.
	Dial    func(ctx context.Context, addr string) (net.Conn, error) // to peers
	Listen  func(ctx context.Context, addr string) (net.Listener, error)
	Now     func() time.Time     // this node's clock
	Elapsed func() time.Duration // since the machine started; clocks that jump leave it alone
	NoSync  bool                 // a crash of the machine loses what was acknowledged last

	SegmentBytes int64 // 8 MiB: of the log's files

	LogFiles  logstore.FS              // the machine's, for the log
	SyncState func(func() error) error // calls what it is given, which syncs the state's file

	Logger *slog.Logger // discards
}

// forwardsHTTP says whether a follower's gateway passes writes on.
func (c Config) forwardsHTTP() bool { return c.ForwardWrites == nil || *c.ForwardWrites }

// forwardsWire says whether a follower's wire port passes writes on.
func (c Config) forwardsWire() bool { return c.ForwardWrites != nil && *c.ForwardWrites }

// tokenSecrets are the cluster's secrets as far as clients may show them as tokens.
func (c Config) tokenSecrets() []string {
	if c.NoMasterToken {
		return nil
	}
	return append([]string{c.Secret}, c.OtherSecrets...)
}

// Peer is another member as configured.
type Peer struct {
	Addr string // its cluster address
	Role string // voter
}

// The roles a node may be configured to.
const (
	RoleVoter       = "voter"
	RoleReadReplica = "read_replica"
)

func (c Config) withDefaults() Config {
	c.Wire = cmp.Or(c.Wire, "127.0.0.1:7437")
	c.HTTP = cmp.Or(c.HTTP, "127.0.0.1:7438")
	if len(c.Peers) > 0 {
		c.Cluster = cmp.Or(c.Cluster, "127.0.0.1:7440")
	}
	c.NodeID = cmp.Or(c.NodeID, 1)
	c.Role = cmp.Or(c.Role, RoleVoter)
	c.Heartbeat = cmp.Or(c.Heartbeat, time.Second)
	c.Election = cmp.Or(c.Election, 5*time.Second)
	c.SnapshotThreshold = cmp.Or(c.SnapshotThreshold, 8192)
	c.SnapshotInterval = cmp.Or(c.SnapshotInterval, 2*time.Minute)
	c.TrailingLogs = cmp.Or(c.TrailingLogs, 10240)
	c.MaxConnsPerIP = cmp.Or(c.MaxConnsPerIP, 100)
	c.ScrubEvery = cmp.Or(c.ScrubEvery, 6*time.Hour)
	c.MinFree = cmp.Or(c.MinFree, disk.DefaultMinFree)
	c.MaxConns = cmp.Or(c.MaxConns, 4096)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 1024)
	c.MaxDatabases = cmp.Or(c.MaxDatabases, 100)
	c.FailedLogins = cmp.Or(c.FailedLogins, 100)
	c.MaxRPS = cmp.Or(c.MaxRPS, 10_000)
	c.ApplyTimeout = cmp.Or(c.ApplyTimeout, 10*time.Second)
	c.AuthTimeout = cmp.Or(c.AuthTimeout, 10*time.Second)
	c.TokenUses = cmp.Or(c.TokenUses, 5*time.Minute)
	c.Slow = cmp.Or(c.Slow, time.Second)
	c.Version = cmp.Or(c.Version, "dev")
	c.Background = c.Background.withDefaults()
	if c.Listen == nil {
		c.Listen = func(ctx context.Context, addr string) (net.Listener, error) {
			return new(net.ListenConfig).Listen(ctx, "tcp", addr)
		}
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// Validate names every fault at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	if c.Home == "" {
		errs = append(errs, errors.New("home: a data directory is needed"))
	}
	for name, addr := range map[string]string{"wire": c.Wire, "http": c.HTTP, "cluster": c.Cluster} {
		if addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	switch c.Role {
	case RoleVoter, RoleReadReplica:
	case "witness":
		errs = append(errs, errors.New("role witness is not offered: give the cluster a third small voter instead"))
	default:
		errs = append(errs, fmt.Errorf("role %q: voter or read_replica", c.Role))
	}
	if c.Secret != "" {
		errs = append(errs, longEnough("cluster_secret", c.Secret))
	}
	for _, s := range c.OtherSecrets {
		errs = append(errs, longEnough("other_cluster_secret", s))
	}
	errs = append(errs, c.TLS.validate("tls", false), c.PeerTLS.validate("tls.cluster", true))
	errs = append(errs, c.reachable())
	for i, p := range c.Peers {
		if _, _, err := net.SplitHostPort(p.Addr); err != nil {
			errs = append(errs, fmt.Errorf("peer %d: %w", i+1, err))
		}
	}
	if c.MaxClockOffset < 0 {
		errs = append(errs, fmt.Errorf("max_clock_offset_ms: %d is negative", c.MaxClockOffset.Milliseconds()))
	}
	if c.Election < 2*c.Heartbeat {
		errs = append(errs, fmt.Errorf("election timeout %s is under twice the heartbeat %s", c.Election, c.Heartbeat))
	}
	return errors.Join(errs...)
}
