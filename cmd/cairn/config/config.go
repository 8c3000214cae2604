package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/seal"
)

// File is the configuration of a cluster node. Keys keep the spelling that existing files use.
type File struct {
	Server struct {
		WirePort      int      `toml:"wire_port"`      // 7437: the clients' binary protocol
		HTTPPort      int      `toml:"http_port"`      // wire_port + 1: the gateway
		Bind          string   `toml:"bind"`           // address to listen on; 0.0.0.0, and in [cluster] that of [server]
		DataDir       string   `toml:"data_dir"`       // ./data
		ForwardWrites *bool    `toml:"forward_writes"` // without it a follower passes on writes over HTTP and refuses those over the wire with the leader's address; true: it passes on both; false: it refuses both, over HTTP with 307
		Lenient       bool     `toml:"lenient"`        // false: unknown fields, values of another type and numbers out of range are refused by name; true: let through, as clients of the first gateway (0.7 and before) rely on: what is unknown is ignored, what has another type counts as absent, numbers are kept as sent. Unreadable dates are refused always
		CORSOrigins   []string `toml:"cors_origins"`   // none: origins of web pages that may ask the gateway
		MasterToken   *bool    `toml:"master_token"`   // true: the cluster secret is an admin token of database "default"
	} `toml:"server"`
	Cluster struct {
		NodeID             uint32     `toml:"node_id"`                            // 1; every member has its own
		Role               string     `toml:"role"`                               // voter; or read_replica
		ClusterPort        int        `toml:"cluster_port"`                       // of the other members; none: a node without peers opens no peer port, one with peers opens 7440
		Bind               string     `toml:"bind"`                               // address to listen on; 0.0.0.0, and in [cluster] that of [server]
		AdvertiseAddr      string     `toml:"advertise_addr"`                     // what peers dial; needed when the peer port listens on every address. Its host is where clients are sent to, too
		AdvertiseWire      string     `toml:"advertise_wire"`                     // where clients are sent to; the host of advertise_addr and the wire port
		AdvertiseHTTP      string     `toml:"advertise_http"`                     // host:port where clients are sent to over HTTP; the host of advertise_addr and the gateway's port
		HeartbeatMS        int        `toml:"heartbeat_interval_ms"`              // 1000
		MaxClockOffsetMS   int        `toml:"max_clock_offset_ms"`                // 2000: how far a node's clock may be from the middle of the members'; a leader over it hands over, and stamps by theirs
		ElectionMS         int        `toml:"election_timeout_ms"`                // 5000: silence after which a leader is replaced; at least twice the heartbeat
		Secret             string     `toml:"cluster_secret" secret:"true"`       // shared by all members, at least 32 characters (`cairn cluster secret` makes one); that of data_dir/cluster.secret, which a node without peers makes at its first start
		SecretFile         string     `toml:"cluster_secret_file"`                // a file with it instead
		OtherSecret        string     `toml:"other_cluster_secret" secret:"true"` // accepted as well, while the secret is being changed
		OtherSecretFile    string     `toml:"other_cluster_secret_file"`          // a file with it instead
		ReplicationMode    string     `toml:"replication_mode"`                   // taken from older files and without effect: a write is always on a majority
		SnapshotThreshold  uint64     `toml:"snapshot_threshold"`                 // 8192 log entries
		SnapshotIntervalMS int        `toml:"snapshot_interval_ms"`               // 120000
		TrailingLogs       uint64     `toml:"trailing_logs"`                      // 10240 entries kept behind a snapshot, for members that were away
		Peers              []filePeer `toml:"peers"`                              // the other members
	} `toml:"cluster"`
	Limits struct {
		MaxConnections      int `toml:"max_connections"`        // 4096 on the wire port, and as many on the gateway
		MaxConnectionsPerIP int `toml:"max_connections_per_ip"` // 100 a port, from one IPv4 address or one IPv6 /64 network; loopback is exempt
		MaxInFlight         int `toml:"max_in_flight"`          // 1024 requests over all wire connections
		MaxRPS              int `toml:"max_rps"`                // 10000 operations a second of one token over HTTP that `cairn token limit` has not bounded; a batch counts as many as it holds; negative for no bound
		MaxDatabases        int `toml:"max_databases"`          // 100 that the tokens of one database may make; tokens with scope admin are not bounded; negative for no bound
		FailedLogins        int `toml:"failed_logins"`          // 100 wrong tokens from one address at once, and one a second after that; right tokens are let in all the same
		TokenUseMinutes     int `toml:"token_use_minutes"`      // 5: how often a node tells the others when tokens were used last
	} `toml:"limits"`
	Log struct {
		RetainOperations int `toml:"retain_operations"` // 1000000 applied operations kept for readers of the log and for backups of ranges
		RetainHours      int `toml:"retain_hours"`      // 168
		SlowMS           int `toml:"slow_ms"`           // 1000: an operation that takes as long is logged, without what it says; negative for none
	} `toml:"log"`

	TLS struct {
		tlsFiles
		Cluster tlsFiles `toml:"cluster"`
	} `toml:"tls"`

	Backup struct {
		Dir             string `toml:"dir"`              // directory; no backups without
		IntervalMinutes int    `toml:"interval_minutes"` // 60
		FullEvery       int    `toml:"full_every"`       // 24 ranges of the log between two whole states
		Keep            int    `toml:"keep"`             // 7 whole states and what follows them
	} `toml:"backup"`

	Embedding struct {
		Strategy string `toml:"strategy"` // none, builtin, static, http. A write waits 250 ms for a vector at most, a question 500 ms; the leader embeds later what was stored without one
		Path     string `toml:"path"`     // static: the model's directory
		URL      string `toml:"url"`      // http: up to and with /v1/embeddings (OpenAI) or /api/embed (Ollama)
		Model    string `toml:"model"`    // http: its name there
		KeyFile  string `toml:"key_file"` // http: a file with the bearer token
		Dim      int    `toml:"dim"`      // http: of the model's vectors; builtin: 384
	} `toml:"embedding"`

	Background background `toml:"background"`
	Local      Local      `toml:"local"`

	Encryption struct {
		KeyFile    string `toml:"key_file"`                  // a file with the master key: a line of 64 hex digits or base64, older keys on lines below; mode 0600. Encrypts all of the home
		KeyPath    string `toml:"key_path"`                  // the same, as older files call it
		KeyEnv     string `toml:"key_env"`                   // the name of an environment variable with it instead, keys separated by commas
		KeyCommand string `toml:"key_command" secret:"true"` // a command that prints it instead, run by /bin/sh
		Generate   bool   `toml:"auto_generate"`             // taken from older files; true is refused: a key beside its data protects nothing
	} `toml:"encryption"`

	// Known, and without effect in this build: notYet says which of them a file sets.
	Raft  map[string]any `toml:"raft"`
	Index map[string]any `toml:"index"`
}

// protections are sections that someone relies on for secrecy: a node that cannot honour them does not start.
func (f *File) protections(unknown []string) error {
	var errs []error
	for _, key := range unknown {
		if section, _, _ := strings.Cut(key, "."); section == "tls" || section == "encryption" {
			errs = append(errs, fmt.Errorf("[%s] has no key %s, and starting without it would not be what was asked for", section, key))
		}
	}
	if f.Encryption.Generate {
		errs = append(errs, errors.New("[encryption] auto_generate is not offered: `cairn key new` makes a key, which belongs elsewhere than its data"))
	}
	return errors.Join(errs...)
}

// notYet names the sections that are understood and change nothing.
func (f *File) notYet() (names []string) {
	for name, section := range map[string]map[string]any{"raft": f.Raft, "index": f.Index} {
		if len(section) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tlsFiles names PEM files; relative paths are the working directory's, as all others here.
type tlsFiles struct {
	CertPath string `toml:"cert_path"` // PEM; with key_path it turns TLS on
	KeyPath  string `toml:"key_path"`  // PEM
	CAPath   string `toml:"ca_path"`   // PEM of the authorities; needed in [tls.cluster]
}

func (t tlsFiles) node() node.TLSFiles {
	return node.TLSFiles{Cert: t.CertPath, Key: t.KeyPath, CA: t.CAPath}
}

type filePeer struct {
	Addr string `toml:"addr"` // peer address, host:port
	Role string `toml:"role"` // voter; or read_replica
}

// Load reads a configuration; the environment overrides the file, and flags both. Unknown keys are named in
// warnings, or refused when strict.
func Load(path string, strict bool, flags func(*File), env func(string) string, log *slog.Logger) (Setup, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Setup{}, cli.Hint(err, "`cairn cluster init` writes one")
	}
	f, unknown, err := Parse(raw)
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := f.protections(unknown); err != nil {
		return Setup{}, cli.Hint(fmt.Errorf("%s: %w", path, err), "remove what is named and protect the ports and the disk by other means")
	}
	if len(unknown) > 0 {
		if strict {
			return Setup{}, fmt.Errorf("%s: unknown keys: %s", path, strings.Join(unknown, ", "))
		}
		log.Warn("unknown configuration keys are ignored", "path", path, "keys", strings.Join(unknown, ", "))
	}
	if names := f.notYet(); len(names) > 0 {
		log.Warn("configuration sections without effect in this build", "path", path, "sections", strings.Join(names, ", "))
	}
	if err := override(&f, env); err != nil {
		return Setup{}, err
	}
	flags(&f)
	c, err := f.Node()
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	return Setup{Node: c, Local: f.Local}, nil
}

// Parse decodes a configuration, and names the keys that it does not know.
func Parse(raw []byte) (f File, unknown []string, err error) {
	d := toml.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err = d.Decode(&f)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		for _, e := range strict.Errors {
			unknown = append(unknown, strings.Join(e.Key(), "."))
		}
		return f, unknown, nil
	}
	return f, nil, err
}

// encryption is where the master key comes from.
func (f *File) encryption() seal.Source {
	e := f.Encryption
	return seal.Source{File: cmp.Or(e.KeyFile, e.KeyPath), Env: e.KeyEnv, Command: e.KeyCommand}
}

// secretOf is a secret as it stands, or as the file that is named has it.
func secretOf(text, path, key string) (string, error) {
	if path == "" {
		return text, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Node turns the file into what a node is opened with.
func (f *File) Node() (node.Config, error) {
	secret, err := secretOf(f.Cluster.Secret, f.Cluster.SecretFile, "cluster_secret_file")
	if err != nil {
		return node.Config{}, err
	}
	other, err := secretOf(f.Cluster.OtherSecret, f.Cluster.OtherSecretFile, "other_cluster_secret_file")
	if err != nil {
		return node.Config{}, err
	}
	bind := cmp.Or(f.Server.Bind, "0.0.0.0")
	at := func(host string, port, def int) string {
		return net.JoinHostPort(host, strconv.Itoa(cmp.Or(port, def)))
	}
	wirePort := cmp.Or(f.Server.WirePort, 7437)
	c := node.Config{
		Home: cmp.Or(f.Server.DataDir, "./data"), Wire: at(bind, wirePort, 0), HTTP: at(bind, f.Server.HTTPPort, wirePort+1),
		NodeID: cmp.Or(f.Cluster.NodeID, 1), Secret: secret,
		Advertise: f.Cluster.AdvertiseAddr, AdvertiseWire: f.Cluster.AdvertiseWire, AdvertiseHTTP: f.Cluster.AdvertiseHTTP,
		Heartbeat: time.Duration(f.Cluster.HeartbeatMS) * time.Millisecond, Election: time.Duration(f.Cluster.ElectionMS) * time.Millisecond, MaxClockOffset: time.Duration(f.Cluster.MaxClockOffsetMS) * time.Millisecond,
		SnapshotThreshold: f.Cluster.SnapshotThreshold, SnapshotInterval: time.Duration(f.Cluster.SnapshotIntervalMS) * time.Millisecond,
		TrailingLogs: f.Cluster.TrailingLogs, RetainOps: f.Log.RetainOperations, RetainTime: time.Duration(f.Log.RetainHours) * time.Hour,
		Background: f.Background.node(), ForwardWrites: f.Server.ForwardWrites, Lenient: f.Server.Lenient, NoMasterToken: f.Server.MasterToken != nil && !*f.Server.MasterToken,
		Backup: node.BackupPlan{Dir: f.Backup.Dir, Interval: time.Duration(f.Backup.IntervalMinutes) * time.Minute, Every: f.Backup.FullEvery, Keep: f.Backup.Keep},
		TLS:    f.TLS.node(), PeerTLS: f.TLS.Cluster.node(), MaxConns: f.Limits.MaxConnections, MaxConnsPerIP: f.Limits.MaxConnectionsPerIP, MaxInFlight: f.Limits.MaxInFlight,
		Encryption: f.encryption(), MaxRPS: f.Limits.MaxRPS, MaxDatabases: f.Limits.MaxDatabases, FailedLogins: f.Limits.FailedLogins, Slow: time.Duration(f.Log.SlowMS) * time.Millisecond, TokenUses: time.Duration(f.Limits.TokenUseMinutes) * time.Minute, CORSOrigins: f.Server.CORSOrigins,
	}
	if f.Cluster.ClusterPort != 0 || len(f.Cluster.Peers) > 0 {
		c.Cluster = at(cmp.Or(f.Cluster.Bind, bind), f.Cluster.ClusterPort, 7440)
	}
	if other != "" {
		c.OtherSecrets = []string{other}
	}
	switch f.Cluster.Role {
	case "", "single":
		if len(f.Cluster.Peers) > 0 && f.Cluster.Role == "single" {
			return c, errors.New(`cluster.role "single" with peers: say "voter"`)
		}
		c.Role = node.RoleVoter
	default:
		c.Role = f.Cluster.Role
	}
	for i, p := range f.Cluster.Peers {
		if p.Role == "witness" {
			return c, fmt.Errorf("cluster.peers %d: witnesses are not offered: give the cluster a third small voter instead", i+1)
		}
		c.Peers = append(c.Peers, node.Peer{Addr: p.Addr, Role: cmp.Or(p.Role, node.RoleVoter)})
	}
	e, err := f.embedder()
	c.Embedder = e
	return c, err
}

// embedder is what [embedding] asks for.
func (f *File) embedder() (embed.Embedder, error) {
	e := f.Embedding
	c := embed.Config{Kind: e.Strategy, Path: e.Path, URL: e.URL, Model: e.Model, Dim: e.Dim}
	if e.KeyFile != "" {
		key, err := os.ReadFile(e.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("embedding.key_file: %w", err)
		}
		c.Key = strings.TrimSpace(string(key))
	}
	em, err := embed.Open(c)
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	return em, nil
}
