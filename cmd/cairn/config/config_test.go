package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft"
)

func loadText(t *testing.T, text string, strict bool, env map[string]string) (node.Config, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cairn.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c, err := Load(path, strict, func(*File) {}, func(name string) string { return env[name] }, slog.New(slog.NewTextHandler(&log, nil)))
	return c.Node, log.String(), err
}

func TestConfigFile(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("  from a file, and thirty-two characters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, text string
		env        map[string]string
		check      func(node.Config) bool
	}{
		{"an empty file is one node on the usual ports", "", nil, func(c node.Config) bool {
			return c.Addresses.Wire == "0.0.0.0:7437" && c.Addresses.HTTP == "0.0.0.0:7438" && c.Addresses.Cluster == "" &&
				c.Home == "./data" &&
				c.Member.NodeID == 1 && c.Member.Role == raft.RoleVoter && len(c.Member.Peers) == 0
		}},
		{"the gateway follows the wire port", "[server]\nwire_port = 9000", nil,
			func(c node.Config) bool { return c.Addresses.HTTP == "0.0.0.0:9001" }},
		{"a peer port that was asked for",
			"[cluster]\ncluster_port = 7440\nadvertise_addr = \"a:7440\"\ninsecure_peers = true", nil,
			func(c node.Config) bool { return c.Addresses.Cluster == "0.0.0.0:7440" }},
		{"role single", "[cluster]\nrole = \"single\"", nil, func(c node.Config) bool { return c.Member.Role == raft.RoleVoter }},
		{"a replica", "[cluster]\nrole = \"read_replica\"", nil, func(c node.Config) bool { return c.Member.Role == raft.RoleReadReplica }},
		{"an operator who admits emptied members", "[cluster]\nadmit = \"operator\"", nil,
			func(c node.Config) bool { return c.Member.FixedKeys }},
		{"timings", "[cluster]\nheartbeat_interval_ms = 250\nelection_timeout_ms = 1000\nsnapshot_threshold = 9\nsnapshot_interval_ms = 500\ntrailing_logs = 7", nil,
			func(c node.Config) bool {
				return c.Raft.Heartbeat == 250*time.Millisecond && c.Raft.Election == time.Second && c.Raft.SnapshotThreshold == 9 &&
					c.Raft.SnapshotInterval == 500*time.Millisecond && c.Raft.TrailingLogs == 7
			}},
		{"the master token", "[server]\nmaster_token = false\nforward_writes = true", nil, func(c node.Config) bool {
			return c.Tokens.NoMaster && c.Tokens.EnsureHome && !c.Tokens.ByHome && *c.Surfaces.ForwardWrites
		}},
		{"the gateway's pages and rates", "[server]\ncors_origins = [\"https://a.example\"]\n[limits]\nmax_rps = 7", nil,
			func(c node.Config) bool { return len(c.Surfaces.CORSOrigins) == 1 && c.Limits.MaxRPS == 7 }},
		{"the home decides on the master token", "", nil,
			func(c node.Config) bool { return c.Tokens.ByHome && c.Surfaces.ForwardWrites == nil }},
		{"protection spelled out as off", "[encryption]\nauto_generate = false\n[tls]\ncert_path = \"\"", nil,
			func(c node.Config) bool { return c.Member.NodeID == 1 }},
		{"numbers that mean something below 0",
			"[limits]\nmax_rps = -1\nmax_databases = -1\n[log]\nslow_ms = -1\n[index]\nidle_seconds = -1\nmax_open = -1\n[background]\nthink_interval_minutes = -1", nil,
			func(c node.Config) bool {
				return c.Limits.MaxRPS == -1 && c.Surfaces.Slow < 0 && c.Indexes.MaxOpen == -1 && c.Background.NoThink
			}},
		{"a master key in a file", "[encryption]\nkey_file = \"/keys/k\"", nil,
			func(c node.Config) bool { return c.Storage.Encryption == seal.Source{File: "/keys/k"} }},
		{"a master key as older files name it", "[encryption]\nkey_path = \"/keys/k\"", nil,
			func(c node.Config) bool { return c.Storage.Encryption == seal.Source{File: "/keys/k"} }},
		{"a master key's command in the environment", "[encryption]\nkey_file = \"/keys/k\"",
			map[string]string{"CAIRN_ENCRYPTION_KEY_COMMAND": "pass key"},
			func(c node.Config) bool { return c.Storage.Encryption == seal.Source{Command: "pass key"} }},
		{"a master key where others have it", "", map[string]string{HexKeyEnv: "00"},
			func(c node.Config) bool { return c.Storage.Encryption == seal.Source{Env: HexKeyEnv} }},
		{"a secret from a file", "[cluster]\ncluster_secret_file = '" + secret + "'", nil,
			func(c node.Config) bool { return c.Member.Secret == "from a file, and thirty-two characters" }},
		{"the environment wins",
			"[server]\nwire_port = 9000\n[cluster]\nnode_id = 2\ncluster_secret = \"in the file, and thirty-two characters\"",
			map[string]string{"CAIRN_SERVER_WIRE_PORT": "9100", "YANTRIKDB_CLUSTER_NODE_ID": "3",
				"YANTRIKDB_CLUSTER_SECRET": "in the environment, over thirty-two characters"},
			func(c node.Config) bool {
				return c.Addresses.Wire == "0.0.0.0:9100" && c.Member.NodeID == 3 &&
					c.Member.Secret == "in the environment, over thirty-two characters"
			}},
		{"our names before theirs", "", map[string]string{"CAIRN_CLUSTER_NODE_ID": "4", "YANTRIKDB_CLUSTER_NODE_ID": "3"},
			func(c node.Config) bool { return c.Member.NodeID == 4 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, log, err := loadText(t, tc.text, true, tc.env)
			if err != nil || !tc.check(c) || log != "" {
				t.Errorf("%+v, %v, log %q", c, err, log)
			}
		})
	}
}

func TestConfigRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
		env              map[string]string
	}{
		{"not TOML", "server = [", "", nil},
		{"a wrong type", "[server]\nwire_port = \"many\"", "wire_port", nil},
		{"an unknown key when strict", "[server]\nwier_port = 1\nfoo = 2",
			"unknown keys: server.wier_port (did you mean server.wire_port?), server.foo", nil},
		{"a witness among the peers", "[[cluster.peers]]\naddr = \"a:1\"\nrole = \"witness\"", "third small voter", nil},
		{"single with peers", "[cluster]\nrole = \"single\"\n[[cluster.peers]]\naddr = \"a:1\"\nrole = \"voter\"", "voter", nil},
		{"peers and no address of its own", "[[cluster.peers]]\naddr = \"a:1\"\nrole = \"voter\"", "advertise_addr", nil},
		{"nobody to admit emptied members", "[cluster]\nadmit = \"nobody\"", "want secret or operator", nil},
		{"a secret that can be guessed", "[cluster]\ncluster_secret = \"hunter2\"", "`cairn cluster secret` makes one", nil},
		{"another that can be guessed", "[cluster]\nother_cluster_secret = \"hunter2\"", "other_cluster_secret: 7 characters", nil},
		{"a peer port on every address, and no address of its own", "[cluster]\ncluster_port = 7440", "advertise_addr", nil},
		{"members in plain text off loopback", "[cluster]\ncluster_port = 7440\nadvertise_addr = \"a:7440\"", "insecure_peers = true", nil},
		{"every address as its own", "[cluster]\nadvertise_addr = \"[::]:7440\"", "advertise_addr", nil},
		{"every address for clients", "[cluster]\nadvertise_http = \"0.0.0.0:7438\"", "advertise_http", nil},
		{"a secret file that is not there", "[cluster]\ncluster_secret_file = \"/nonexistent/secret\"", "cluster_secret_file", nil},
		{"encryption that would not happen", "[encryption]\nauto_generate = true", "encryption", nil},
		{"encryption by a key that is not known", "[encryption]\nkey_hex = \"00\"", "encryption.key_hex", nil},
		{"TLS that would not happen", "[tls]\nclient_ca_path = \"x\"", "tls.client_ca_path", nil},
		{"TLS between members that would not happen", "[tls.cluster]\ncert = \"x\"", "tls.cluster.cert", nil},
		{"an origin that no browser sends", "[server]\ncors_origins = [\"*\", \"https://a.example/\"]",
			`cors_origins: "https://a.example/": want scheme://host`, nil},
		{"a surface that there is none of", "[local]\ndisable = [\"debug\", \"proces\"]",
			`local.disable: no surface is called "proces"`, nil},
		{"an address without a port", "[cluster]\nadvertise_addr = \"a\"", `cluster.advertise_addr: want host:port, got "a"`, nil},
		{"a fraction of a database", "[index]\nmax_open = 0.5", "index.max_open: want a whole number", nil},
		{"a port that does not exist", "[server]\nwire_port = 99999", "server.wire_port: want a number from 0 to 65535, got 99999", nil},
		{"a time that is none", "[backup]\ninterval_minutes = -1",
			"backup.interval_minutes: want a number from 0 to 52560000, got -1", nil},
		{"a time that overflows", "[limits]\ntoken_use_minutes = 1000000000000",
			"limits.token_use_minutes: want a number from 0 to 52560000", nil},
		{"two numbers out of range", "[limits]\nmax_in_flight = -1\n[log]\nretain_hours = -5",
			"log.retain_hours: want a number from 0 to 876000, got -5", nil},
		{"a number out of range in the environment", "", "local.string_port: want a number from 0 to 65535, got -7",
			map[string]string{"CAIRN_LOCAL_STRING_PORT": "-7"}},
		{"a node without a number", "[cluster]\nnode_id = -1", "cluster.node_id: want a number from 0 to 4294967295", nil},
		{"a text for a switch", "[server]\nlenient = \"no\"", "line 2: server.lenient: want true or false", nil},
		{"a number that is none in the environment", "", "CAIRN_SERVER_WIRE_PORT", map[string]string{"CAIRN_SERVER_WIRE_PORT": "many"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := loadText(t, tc.text, true, tc.env); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want it to name %q", err, tc.want)
			}
		})
	}
}

func TestUnknownKeysAreNamed(t *testing.T) {
	_, log, err := loadText(t, "[server]\nwier_port = 1\n[cluster]\nfancy = true\n[raft]\nx = 384", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"server.wier_port", "cluster.fancy", "sections=raft"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not name %s: %s", want, log)
		}
	}
}

// TestAPortIsGivenOnce: FreePorts returns no port twice, also when the range wraps around.
func TestAPortIsGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for i := range 40 {
		portsGiven.Add(int64(i * 20)) // as if tests had taken some other ports
		n := 1 + i%30
		base, err := FreePorts(n)
		if err != nil {
			t.Fatal(err)
		}
		for p := base; p < base+n; p++ {
			if seen[p] {
				t.Fatalf("port %d was given twice", p)
			}
			seen[p] = true
		}
	}
}

// TestAFaultNamesItsLine: errors name the line, also in a file that is not TOML.
func TestAFaultNamesItsLine(t *testing.T) {
	for text, want := range map[string]string{"[server]\nwire_port = \"7437\"\n": "line 2: server.wire_port: ",
		"[server]\nwire_port = 1\n[cluster\n": "line 3: "} {
		if _, _, err := Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s…", text, err, want)
		}
	}
}
