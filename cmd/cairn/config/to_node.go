package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/rerank"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/oauth"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft"
)

func (b background) engineConfig() (c engine.Background) {
	if m := cmp.Or(b.ThinkMinutes, b.ConsolidationMinutes); m != nil {
		c.Think = time.Duration(*m) * time.Minute
		c.NoThink = *m <= 0
	}
	c.Consolidate, c.SessionAge = b.Consolidate, time.Duration(b.SessionHours)*time.Hour
	return c
}

// ReadSecret returns the text, or the content of the file at path if that is set. key is the configuration key, for
// errors.
func ReadSecret(text, path, key string) (string, error) {
	if path == "" {
		return text, nil
	}
	b, err := private.ReadNamed(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Node returns the node's configuration.
func (f *File) Node() (node.Config, error) {
	secret, err := ReadSecret(f.Cluster.Secret, f.Cluster.SecretFile, "cluster_secret_file")
	if err != nil {
		return node.Config{}, err
	}
	other, err := ReadSecret(f.Cluster.OtherSecret, f.Cluster.OtherSecretFile, "other_cluster_secret_file")
	if err != nil {
		return node.Config{}, err
	}
	bind := cmp.Or(f.Server.Bind, "0.0.0.0")
	at := func(host string, port, def int) string {
		return net.JoinHostPort(host, strconv.Itoa(cmp.Or(port, def)))
	}
	wirePort := cmp.Or(f.Server.WirePort, 7437)
	c := node.Config{
		Home: cmp.Or(f.Server.DataDir, "./data"),
		Addresses: node.Addresses{Wire: at(bind, wirePort, 0), HTTP: at(bind, f.Server.HTTPPort, wirePort+1),
			Advertise: f.Cluster.AdvertiseAddr, AdvertiseWire: f.Cluster.AdvertiseWire,
			AdvertiseHTTP: f.Cluster.AdvertiseHTTP},
		Member: node.Member{NodeID: cmp.Or(f.Cluster.NodeID, 1), Secret: secret},
		Raft: node.Raft{Heartbeat: time.Duration(f.Cluster.HeartbeatMS) * time.Millisecond,
			Election:       time.Duration(f.Cluster.ElectionMS) * time.Millisecond,
			MaxClockOffset: time.Duration(f.Cluster.MaxClockOffsetMS) * time.Millisecond, SnapshotThreshold: f.Cluster.SnapshotThreshold,
			SnapshotInterval: time.Duration(f.Cluster.SnapshotIntervalMS) * time.Millisecond, TrailingLogs: f.Cluster.TrailingLogs},
		Storage: node.Storage{RetainOps: f.Log.RetainOperations, RetainTime: time.Duration(f.Log.RetainHours) * time.Hour,
			Encryption: f.encryption()},
		Background: f.Background.engineConfig(),
		Indexes:    node.Indexes{Idle: time.Duration(f.Index.IdleSeconds) * time.Second, MaxOpen: f.Index.MaxOpen},
		Surfaces: node.Surfaces{ForwardWrites: f.Server.ForwardWrites, Lenient: f.Server.Lenient,
			Slow:        time.Duration(f.Log.SlowMS) * time.Millisecond,
			CORSOrigins: f.Server.CORSOrigins},
		Tokens: node.Tokens{ByHome: f.Server.MasterToken == nil,
			NoMaster:   f.Server.MasterToken != nil && !*f.Server.MasterToken,
			EnsureHome: f.Server.MasterToken != nil && !*f.Server.MasterToken, Uses: time.Duration(f.Limits.TokenUseMinutes) * time.Minute},
		OAuth: oauth.Settings{Issuer: f.Server.OAuthIssuer},
		Backup: operate.BackupPlan{Dir: f.Backup.Dir, Interval: time.Duration(f.Backup.IntervalMinutes) * time.Minute,
			Every: f.Backup.FullEvery, Keep: f.Backup.Keep},
		TLS: node.TLS{Clients: f.TLS.certFiles(), Peers: f.TLS.Cluster.certFiles(), PlainPeers: f.Cluster.InsecurePeers},
		Limits: node.Limits{MaxConns: f.Limits.MaxConnections, MaxConnsPerIP: f.Limits.MaxConnectionsPerIP,
			MaxInFlight: f.Limits.MaxInFlight, MaxRPS: f.Limits.MaxRPS,
			MaxDatabases: f.Limits.MaxDatabases, FailedLogins: f.Limits.FailedLogins},
	}
	if f.Cluster.ClusterPort != 0 || len(f.Cluster.Peers) > 0 {
		c.Addresses.Cluster = at(cmp.Or(f.Cluster.Bind, bind), f.Cluster.ClusterPort, 7440)
	}
	if other != "" {
		c.Member.OtherSecrets = []string{other}
	}
	if err := f.member(&c.Member); err != nil {
		return c, err
	}
	e, err := f.embedder()
	if err != nil {
		return c, err
	}
	c.Embedder = e
	c.Reranker, err = f.reranker()
	return c, err
}

// embedder opens the embedder of [embedding].
func (f *File) embedder() (embed.Embedder, error) {
	e := f.Embedding
	key, err := ReadSecret("", e.KeyFile, "embedding.key_file")
	if err != nil {
		return nil, err
	}
	em, err := embed.Open(embed.Config{Kind: e.Strategy, Path: e.Path, Int8: e.Int8, URL: e.URL, Model: e.Model, Key: key, Dim: e.Dim})
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	return em, nil
}

// reranker opens the reranker of [rerank].
func (f *File) reranker() (*rerank.Reranker, error) {
	r := f.Rerank
	key, err := ReadSecret("", r.KeyFile, "rerank.key_file")
	if err != nil {
		return nil, err
	}
	made, err := rerank.New(rerank.Config{URL: r.URL, Model: r.Model, Key: key, Wait: time.Duration(r.WaitMS) * time.Millisecond})
	if err != nil {
		return nil, fmt.Errorf("rerank: %w", err)
	}
	return made, nil
}

// encryption returns the source of the master key.
func (f *File) encryption() seal.Source {
	e := f.Encryption
	return seal.Source{File: cmp.Or(e.KeyFile, e.KeyPath), Env: e.KeyEnv, Command: e.KeyCommand}
}

func (t tlsFiles) certFiles() certs.Files {
	return certs.Files{Cert: t.CertPath, Key: t.KeyPath, CA: t.CAPath}
}

// member fills in the role, the peers and the admission of the member.
func (f *File) member(m *node.Member) error {
	switch f.Cluster.Admit {
	case "", "secret":
	case "operator":
		m.FixedKeys = true
	default:
		return fmt.Errorf("cluster.admit %q: want secret or operator", f.Cluster.Admit)
	}
	m.Role = cmp.Or(f.Cluster.Role, raft.RoleVoter)
	if m.Role == "single" {
		if len(f.Cluster.Peers) > 0 {
			return errors.New(`cluster.role is "single", and cluster.peers is not empty: set role = "voter"`)
		}
		m.Role = raft.RoleVoter
	}
	for i, p := range f.Cluster.Peers {
		if p.Role == "witness" {
			return fmt.Errorf("cluster.peers %d: witnesses are not supported: use a third small voter instead", i+1)
		}
		m.Peers = append(m.Peers, p.Addr)
	}
	return nil
}
