package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// deaf is a state machine that takes no notice of its records.
type deaf struct{ index, term uint64 }

func (d *deaf) Apply(batch []raft.Record) []any { return make([]any, len(batch)) }
func (d *deaf) Applied() (uint64, uint64)       { return d.index, d.term }
func (d *deaf) Snapshot() (raft.Snapshot, error) {
	return nil, errors.New("it has no state")
}
func (d *deaf) Restore(io.Reader) error                          { return errors.New("it has no state") }
func (d *deaf) Changed(context.Context, uint32, wire.Membership) {}
func (d *deaf) Forward(context.Context, uint32, wire.Forward) ([]byte, error) {
	return nil, errors.New("it forwards nothing")
}
func (d *deaf) Peer(context.Context, wire.Frame) (wire.Frame, error) {
	return wire.Frame{}, errors.New("it answers nothing")
}

// poison has three stopped nodes commit a record that no state can apply: consensus does not look into records.
func poison(t *testing.T, nodes []*nodeProcess) (index uint64) {
	t.Helper()
	members := make([]*raft.Node, len(nodes))
	for i, p := range nodes {
		up, err := loadConfig(p.args[3], false, func(*file) {}, func(string) string { return "" }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		cfg := up.node
		files, err := node.Check(cfg, false)
		if err != nil {
			t.Fatal(err)
		}
		var peers []string
		for _, x := range cfg.Peers {
			peers = append(peers, x.Addr)
		}
		var cluster string
		st, err := oplog.Open(filepath.Join(cfg.Home, "state.db"), oplog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.Read(func(v *oplog.View) error { cluster = v.Cluster(); return nil }), st.Close()); err != nil {
			t.Fatal(err)
		}
		sm := &deaf{uint64(files.State.Index), uint64(files.State.Term)}
		hello := func() wire.RaftHello {
			return wire.RaftHello{ClusterID: cluster, EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion, StateMin: oplog.SnapshotMin, StateMax: oplog.SnapshotMax, Reads: oplog.Reads()}
		}
		if members[i], err = raft.Open(t.Context(), raft.Config{NodeID: cfg.NodeID, Dir: filepath.Join(cfg.Home, "raft"), Addr: cfg.Cluster, Advertise: cfg.Advertise, Secret: cfg.Secret,
			Role: cfg.Role, Peers: peers, Heartbeat: cfg.Heartbeat, Election: cfg.Election, Hello: hello, Handler: sm}, sm); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, m := range members {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, m := range members {
			if !m.IsLeader() {
				continue
			}
			at, _, err := m.Propose(t.Context(), []byte("a record of no version that ever was, with room for a time")).Wait()
			if err == nil && eventually(func() bool {
				for _, m := range members {
					if m.Status().AppliedIndex < at {
						return false
					}
				}
				return true
			}) {
				return at
			}
		}
	}
	t.Fatal("no record was committed")
	return 0
}

// TestAPoisonedRecordIsSkipped: a record that no state can apply stops three nodes at every start. Skipped on each of them, by index and
// digest, it is passed over, and what was acknowledged before is there; the audit says so; a running node and a good record
// are left alone.
func TestAPoisonedRecordIsSkipped(t *testing.T) {
	t.Parallel()
	nodes, token := startThreeIn(t, t.TempDir(), func(*nodeFile) {}, 0, 1, 2)
	if out, code := cli(t, "remember", "the lamp is lit at dusk", "--addr", nodes[leaderOf(t, nodes)].line.Wire, "--token", token); code != 0 {
		t.Fatal(out)
	}
	sameState(t, nodes)
	if _, code := cli(t, "recover", "--config", nodes[0].args[3], "--skip-record", "9"); code != exitFailed {
		t.Errorf("on a running node: exit %d", code)
	}
	for _, p := range nodes {
		if _, err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	at := poison(t, nodes)
	stopped := make(chan *nodeProcess, len(nodes))
	for _, p := range nodes {
		p.launch()
		go func() {
			_ = p.end() // its log says why
			stopped <- p
		}()
	}
	for i := range nodes {
		p := <-stopped
		if log := p.log.String(); i < 2 && (!strings.Contains(log, fmt.Sprintf("record %d", at)) || !strings.Contains(log, "cairn recover")) {
			t.Errorf("%s stopped with:\n%s", p.args[3], tailOf(log, 1000))
		}
		if i == 1 { // a majority is gone: the third may not come to hear that the record is committed
			for _, p := range nodes {
				p.cmd.Process.Kill()
			}
		}
	}
	digest := ""
	for _, p := range nodes {
		config := p.args[3]
		if _, code := cli(t, "recover", "--config", config, "--skip-record", fmt.Sprint(at-1)); code != exitFailed {
			t.Errorf("a record that was applied: exit %d", code)
		}
		said, code := cliErr(t, "recover", "--config", config, "--skip-record", fmt.Sprint(at))
		m := regexp.MustCompile(`sha256 ([0-9a-f]{64})`).FindStringSubmatch(said)
		if code != exitFailed || m == nil || digest != "" && m[1] != digest {
			t.Fatalf("exit %d, %s", code, said)
		}
		digest = m[1]
		if _, code := cli(t, "recover", "--config", config, "--skip-record", fmt.Sprint(at), "--sha256", strings.Repeat("0", 64)); code != exitFailed {
			t.Errorf("another digest: exit %d", code)
		}
	}
	for _, p := range nodes {
		if out, code := cli(t, "recover", "--config", p.args[3], "--skip-record", fmt.Sprint(at), "--sha256", digest); code != 0 {
			t.Fatalf("exit %d, %s", code, out)
		}
	}
	startAll(t, nodes, 0, 1, 2)
	sameState(t, nodes)
	for _, p := range nodes {
		if out, code := cli(t, "recall", "lamp dusk", "--addr", p.line.Wire, "--token", token); code != 0 || !strings.Contains(out, "lit at dusk") {
			t.Errorf("exit %d, %s", code, out)
		}
	}
	if out, code := cli(t, "audit", "--url", nodes[leaderOf(t, nodes)].line.HTTP, "--token", token); code != 0 || !strings.Contains(out, "skip_record") || !strings.Contains(out, fmt.Sprintf("record %d", at)) {
		t.Errorf("audit: exit %d, %s", code, out)
	}
}

// cliErr is cli for what is said on the standard error.
func cliErr(t testing.TB, args ...string) (stderr string, code int) {
	t.Helper()
	c := command(t.Context(), args...)
	var b strings.Builder
	c.Stderr = &b
	_ = c.Run() // the code says it
	return b.String(), c.ProcessState.ExitCode()
}
