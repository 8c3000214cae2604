package config

import (
	"fmt"
	"strconv"

	"github.com/cairndb/cairn/oplog/seal"
)

// Overrides are the environment's names for keys of the file, the first that is set winning.
var Overrides = []struct {
	names []string
	set   func(*File, string) error
}{
	{[]string{"CAIRN_SERVER_WIRE_PORT"}, number(func(f *File) *int { return &f.Server.WirePort })},
	{[]string{"CAIRN_SERVER_HTTP_PORT"}, number(func(f *File) *int { return &f.Server.HTTPPort })},
	{[]string{"CAIRN_SERVER_DATA_DIR"}, text(func(f *File) *string { return &f.Server.DataDir })},
	{[]string{"CAIRN_SERVER_BIND"}, text(func(f *File) *string { return &f.Server.Bind })},
	{[]string{"CAIRN_CLUSTER_NODE_ID", "YANTRIKDB_CLUSTER_NODE_ID"}, func(f *File, v string) error {
		id, err := strconv.ParseUint(v, 10, 32)
		f.Cluster.NodeID = uint32(id)
		return err
	}},
	{[]string{"CAIRN_CLUSTER_ROLE"}, text(func(f *File) *string { return &f.Cluster.Role })},
	{[]string{"CAIRN_CLUSTER_CLUSTER_PORT"}, number(func(f *File) *int { return &f.Cluster.ClusterPort })},
	{[]string{"CAIRN_CLUSTER_ADVERTISE_ADDR"}, text(func(f *File) *string { return &f.Cluster.AdvertiseAddr })},
	{[]string{"CAIRN_CLUSTER_ADVERTISE_WIRE"}, text(func(f *File) *string { return &f.Cluster.AdvertiseWire })},
	{[]string{"CAIRN_CLUSTER_ADVERTISE_HTTP"}, text(func(f *File) *string { return &f.Cluster.AdvertiseHTTP })},
	{[]string{"CAIRN_CLUSTER_HEARTBEAT_INTERVAL_MS"}, number(func(f *File) *int { return &f.Cluster.HeartbeatMS })},
	{[]string{"CAIRN_CLUSTER_ELECTION_TIMEOUT_MS"}, number(func(f *File) *int { return &f.Cluster.ElectionMS })},
	{[]string{"CAIRN_CLUSTER_SECRET", "CAIRN_CLUSTER_CLUSTER_SECRET", "YANTRIKDB_CLUSTER_SECRET"}, text(func(f *File) *string { return &f.Cluster.Secret })},
	{[]string{"CAIRN_TLS_CERT_PATH"}, text(func(f *File) *string { return &f.TLS.CertPath })},
	{[]string{"CAIRN_TLS_KEY_PATH"}, text(func(f *File) *string { return &f.TLS.KeyPath })},
	{[]string{"CAIRN_TLS_CA_PATH"}, text(func(f *File) *string { return &f.TLS.CAPath })},
	{[]string{"CAIRN_TLS_CLUSTER_CERT_PATH"}, text(func(f *File) *string { return &f.TLS.Cluster.CertPath })},
	{[]string{"CAIRN_TLS_CLUSTER_KEY_PATH"}, text(func(f *File) *string { return &f.TLS.Cluster.KeyPath })},
	{[]string{"CAIRN_TLS_CLUSTER_CA_PATH"}, text(func(f *File) *string { return &f.TLS.Cluster.CAPath })},
	{[]string{"CAIRN_ENCRYPTION_KEY_FILE"}, keysFrom(func(v string) seal.Source { return seal.Source{File: v} })},
	{[]string{"CAIRN_ENCRYPTION_KEY_ENV"}, keysFrom(func(v string) seal.Source { return seal.Source{Env: v} })},
	{[]string{"CAIRN_ENCRYPTION_KEY_COMMAND"}, keysFrom(func(v string) seal.Source { return seal.Source{Command: v} })},
	{[]string{HexKeyEnv}, func(f *File, v string) error {
		if f.encryption().On() {
			return nil
		}
		return keysFrom(func(string) seal.Source { return seal.Source{Env: HexKeyEnv} })(f, v)
	}},
	{[]string{"CAIRN_CLUSTER_CLUSTER_SECRET_FILE"}, text(func(f *File) *string { return &f.Cluster.SecretFile })},
}

// HexKeyEnv is where other servers' set-ups have the master key.
const HexKeyEnv = "YANTRIKDB_ENCRYPTION_KEY_HEX"

// keysFrom takes the master key from one place, whatever other the file names.
func keysFrom(source func(string) seal.Source) func(*File, string) error {
	return func(f *File, v string) error {
		f.Encryption.KeyPath = ""
		s := source(v)
		f.Encryption.KeyFile, f.Encryption.KeyEnv, f.Encryption.KeyCommand = s.File, s.Env, s.Command
		return nil
	}
}

func text(at func(*File) *string) func(*File, string) error {
	return func(f *File, v string) error { *at(f) = v; return nil }
}

func number(at func(*File) *int) func(*File, string) error {
	return func(f *File, v string) (err error) { *at(f), err = strconv.Atoi(v); return err }
}

func override(f *File, env func(string) string) error {
	for _, o := range Overrides {
		for _, name := range o.names {
			if v := env(name); v != "" {
				if err := o.set(f, v); err != nil {
					return fmt.Errorf("environment %s: %w", name, err)
				}
				break
			}
		}
	}
	return nil
}
