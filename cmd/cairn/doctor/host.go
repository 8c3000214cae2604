package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/transport"
)

// Bounds of a healthy disk. fsync time matters because a write waits for two fsyncs on a majority.
const (
	slowSync  = 20 * time.Millisecond
	syncTries = 20
	lowSpace  = 10 // percent free
)

func (e *examination) home(context.Context) []Finding {
	st, err := os.Stat(e.cfg.Home)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []Finding{{"", Warn, e.cfg.Home + " is not there yet", "it is made when the node starts"}}
	case err != nil:
		return []Finding{{"", Fail, err.Error(), "the node's user must be able to reach it"}}
	case st.Mode().Perm()&0o077 != 0:
		return []Finding{{"", Warn, fmt.Sprintf("%s is open to others (%s)", e.cfg.Home, st.Mode().Perm()),
			"chmod 700 " + private.Quote(e.cfg.Home)}}
	}
	fs := []Finding{{"", OK, e.cfg.Home, ""}}
	if aside := home.SetAsideNames(e.cfg.Home); len(aside) > 0 {
		fs = append(fs, Finding{"", Warn,
			"files moved aside, because they were unreadable or differ from a majority's (the node's log says which): " + strings.Join(aside, ", "),
			"check the disk; remove the files when the node is healthy again"})
	}
	if _, err := home.ReadIdentity(e.cfg.Home); err != nil {
		fs = append(fs, Finding{"", Fail, err.Error(), "the node does not start before that; see deploy/runbooks/node-lost.md for a member's empty home"})
	}
	whose := "--home " + private.Quote(e.cfg.Home)
	if e.path != "" {
		whose = "--config " + private.Quote(e.path)
	}
	for _, l := range home.Lost(e.cfg.Home) {
		fs = append(fs, Finding{"", Warn, fmt.Sprintf("this home keeps %s, which the cluster lacks", l.Lost),
			"`cairn recover " + whose + " --import-lost " + l.Log + "`; see deploy/runbooks/divergence.md"})
	}
	if _, err := os.Stat(filepath.Join(e.cfg.Home, "raft", "amnesia")); err == nil {
		fs = append(fs, Finding{"", Warn,
			"this node may not vote: its log was lost or is older than what it acknowledged, or its home was empty",
			"start the other nodes with the homes they have; this node gets its vote when it has joined them and caught up; what is said of peers and the node's log say what keeps it from that"})
	}
	return fs
}

func (e *examination) secretFiles(context.Context) (fs []Finding) {
	for _, path := range append(e.secrets, e.cfg.TLS.Clients.Key, e.cfg.TLS.Peers.Key) {
		st, err := os.Stat(path)
		if path == "" || err != nil {
			continue
		}
		if st.Mode().Perm()&0o077 != 0 {
			fs = append(fs, Finding{"", Fail, fmt.Sprintf("%s can be read by others (%s)", path, st.Mode().Perm()),
				"chmod 600 " + private.Quote(path)})
		}
	}
	if fs == nil {
		fs = []Finding{{"", OK, "only their owner reads them", ""}}
	}
	return fs
}

func (e *examination) disk(context.Context) (fs []Finding) {
	if _, err := os.Stat(e.cfg.Home); err != nil {
		return nil
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(e.cfg.Home, &st); err == nil && st.Blocks > 0 {
		free := uint64(st.Bavail) * uint64(st.Bsize)
		percent := 100 * uint64(st.Bavail) / uint64(st.Blocks)
		f := Finding{"", OK, fmt.Sprintf("%s free (%d%%)", cli.Size(int64(free)), percent), ""}
		if percent < lowSpace {
			f.Status, f.Do = Warn, "free space: a node whose disk is full rejects writes"
		}
		if free < disk.DefaultMinFree {
			f.Status = Fail
		}
		if may := disk.Removable(e.cfg.Home); f.Status != OK && len(may) > 0 {
			f.Do += "; these files can be removed: " + strings.Join(may, ", ")
		}
		fs = append(fs, f)
	}
	median, worst, err := syncLatency(e.cfg.Home)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return append(fs, Finding{"", Fail, err.Error(), "see deploy/runbooks/disk-full.md"})
	case err != nil:
		return append(fs, Finding{"", Fail, err.Error(), "the node's user must be able to write there"})
	case median > slowSync:
		return append(fs, Finding{"", Warn, fmt.Sprintf("an fsync takes %s (worst of %d: %s)", median, syncTries, worst),
			"use a faster disk: every write waits for an fsync"})
	default:
		return append(fs, Finding{"", OK, fmt.Sprintf("an fsync takes %s (worst of %d: %s)", median, syncTries, worst), ""})
	}
}

func syncLatency(dir string) (median, worst time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range syncTries {
		start := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, 0, err
		}
		took = append(took, time.Since(start).Round(10*time.Microsecond))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1], nil
}

// ports tries to listen on the node's addresses: those in the configuration, or else those of its last run. It skips
// this if the node runs.
func (e *examination) ports(context.Context) (fs []Finding) {
	if e.running != nil {
		return []Finding{{"", OK, "the node runs and answers", ""}}
	}
	if e.held {
		return nil
	}
	last := cli.Addresses{Wire: config.Loopback(7437), HTTP: config.Loopback(7438)}
	if at, err := e.t.HomeAddresses(); err == nil { // addresses of the last run
		last = at
	}
	for _, p := range []struct{ name, addr string }{{"wire", cmp.Or(e.cfg.Addresses.Wire, last.Wire)},
		{"gateway", cmp.Or(e.cfg.Addresses.HTTP, last.HTTP)}, {"peers", e.cfg.Addresses.Cluster}} {
		if p.addr == "" {
			continue // a node without peers opens no peer port
		}
		ln, err := net.Listen("tcp", p.addr)
		if err != nil {
			fs = append(fs, Finding{"", Fail, fmt.Sprintf("%s: %v", p.name, err),
				"another process uses it: stop that process, or choose another port"})
			continue
		}
		ln.Close()
	}
	if fs == nil {
		fs = []Finding{{"", OK, "free", ""}}
	}
	return fs
}

func (e *examination) peers(ctx context.Context) []Finding {
	if len(e.cfg.Member.Peers) == 0 {
		return nil
	}
	fs := make([]Finding, len(e.cfg.Member.Peers))
	var wg sync.WaitGroup
	for i, addr := range e.cfg.Member.Peers {
		wg.Go(func() {
			start := time.Now()
			err := e.checkPeer(ctx, addr)
			fs[i] = Finding{"", OK, fmt.Sprintf("%s answers in %s", addr, time.Since(start).Round(10*time.Microsecond)), ""}
			if errors.Is(err, transport.ErrSecret) {
				fs[i] = Finding{"", Fail, addr + ": refused: cluster secret differs",
					"give this node the secret of the others, in cluster_secret or cluster_secret_file, and start it again"}
			} else if err != nil {
				fs[i] = Finding{"", Warn, fmt.Sprintf("%s: %v", addr, err), "check that the node runs and that no firewall blocks this port"}
				if has := e.memberAddresses(); len(has) > 0 && !slices.Contains(has, addr) {
					fs[i].Do = "no member has this address; [[cluster.peers]] is needed for a start with an empty home, and the members are at " + strings.Join(has, ", ")
				} else if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || strings.Contains(err.Error(), "x509: ") {
					fs[i].Do = "check this machine's clock, that node's certificate, and that ca_path in [tls.cluster] has its authority"
				} else if strings.Contains(err.Error(), "this port speaks TLS") {
					fs[i].Do = "the member uses TLS and this node does not: give this node a certificate of the same authority, in [tls.cluster] or with `cairn cluster init --tls`"
				} else if strings.Contains(err.Error(), "tls: ") {
					fs[i].Do = "check [tls.cluster] here and there: that node's log says why it rejects this one"
				}
			}
		})
	}
	wg.Wait()
	for i, f := range fs {
		if f.Status != Warn { // it answers, or rejects this node's secret
			e.greeted = append(e.greeted, e.cfg.Member.Peers[i])
		}
	}
	return fs
}

// memberAddresses returns the addresses of the other members that the running node has.
func (e *examination) memberAddresses() (all []string) {
	if e.running != nil {
		for _, p := range e.running.Peers {
			all = append(all, p.Addr)
		}
	}
	return all
}

// checkPeer connects to a peer as this node would, and verifies that the peer knows the cluster secret.
func (e *examination) checkPeer(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { nc.Close() }()
	if e.cfg.TLS.Peers.On() {
		own, err := certs.Open(e.cfg.TLS.Peers, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		_, client := own.ForPeers()
		secured := tls.Client(nc, client)
		if err := secured.HandshakeContext(ctx); err != nil {
			return err
		}
		nc = secured
	}
	secret, err := home.OpenSecret(e.cfg.Files())
	if err != nil {
		return err
	}
	end, _ := ctx.Deadline()
	return transport.CheckSecret(nc, end, append(e.cfg.Member.OtherSecrets, secret)...)
}

// encryption checks the master key and the keyring without changing them.
func (e *examination) encryption(ctx context.Context) []Finding {
	has, source := seal.Exists(e.cfg.Home), e.cfg.Storage.Encryption
	ailing := func(err error) []Finding { return []Finding{{"", Fail, err.Error(), config.KeyAdvice(err)}} }
	if !source.Enabled() {
		if has {
			return ailing(fmt.Errorf("home %s is %w", e.cfg.Home, seal.ErrSealed))
		}
		return []Finding{{"", OK, "off: files below the home are plain", ""}}
	}
	masters, err := source.Masters(ctx)
	if err != nil {
		return ailing(err)
	}
	keys, err := seal.Load(e.cfg.Home, masters)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []Finding{{"", OK, "on, for a home that does not exist yet, under master key " + masters[0].ID().String(), ""}}
	case err != nil:
		return ailing(err)
	}
	said := fmt.Sprintf("master key %s, %s, %s active", masters[0].ID(), api.Many(len(keys.Keys()), "data key", "data keys"), keys.Active())
	if len(masters) > 1 {
		return []Finding{{"", Warn, said + fmt.Sprintf("; %d older master keys are still configured", len(masters)-1),
			"take them away once this node has started with the new one and no backup needs them"}}
	}
	return []Finding{{"", OK, said, ""}}
}
