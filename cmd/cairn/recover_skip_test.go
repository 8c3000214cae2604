package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// ignoringMachine is a state machine that ignores its records.
type ignoringMachine struct{ index, term uint64 }

func (d *ignoringMachine) Apply(batch []raft.Record) []any { return make([]any, len(batch)) }
func (d *ignoringMachine) Applied() (uint64, uint64)       { return d.index, d.term }
func (d *ignoringMachine) Sums() []raft.StateSum           { return nil }
func (d *ignoringMachine) Snapshot() (raft.Snapshot, error) {
	return nil, errors.New("it has no state")
}
func (d *ignoringMachine) OpenSnapshot(string, uint64) (io.ReadCloser, int64, error) {
	return nil, 0, errors.New("it has no state")
}
func (d *ignoringMachine) RetainSnapshots([]string) error                   { return nil }
func (d *ignoringMachine) Restore(io.Reader) error                          { return errors.New("it has no state") }
func (d *ignoringMachine) Changed(context.Context, uint32, wire.Membership) {}
func (d *ignoringMachine) Forward(context.Context, uint32, wire.Forward) ([]byte, error) {
	return nil, errors.New("it forwards nothing")
}
func (d *ignoringMachine) Peer(context.Context, wire.Frame) (wire.Frame, error) {
	return wire.Frame{}, errors.New("it answers nothing")
}

// commitPoison makes three stopped nodes commit a record that no state can apply. Consensus does not inspect records.
func commitPoison(t *testing.T, nodes []*cairntest.Node) (index uint64) {
	t.Helper()
	members := make([]*raft.Node, len(nodes))
	for i, p := range nodes {
		up, err := config.Load(p.Args[3], false, func(*config.File) {}, func(string) string { return "" }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		cfg := up.Node
		files, err := home.Check(cfg.Files(), false)
		if err != nil {
			t.Fatal(err)
		}
		peers := cfg.Member.Peers
		var cluster string
		st, err := state.Open(filepath.Join(cfg.Home, "state"), state.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(st.Read(func(v *state.View) error { cluster = v.Cluster(); return nil }), st.Close()); err != nil {
			t.Fatal(err)
		}
		sm := &ignoringMachine{uint64(files.State.Index), uint64(files.State.Term)}
		hello := func() wire.RaftHello {
			return wire.RaftHello{ClusterID: cluster, EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion,
				StateMin: snapshot.Min, StateMax: snapshot.Max, Reads: oplog.Reads()}
		}
		if members[i], err = raft.Open(t.Context(),
			raft.Config{NodeID: cfg.Member.NodeID, Dir: filepath.Join(cfg.Home, "raft"), Addr: cfg.Addresses.Cluster,
				Advertise: cfg.Addresses.Advertise, Credentials: raft.Credentials{Secret: cfg.Member.Secret},
				Role: cfg.Member.Role, Peers: peers, Timing: cfg.Raft, Hello: hello, Handler: sm}, sm); err != nil {
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
	suite.Eventually(t, "a record to be committed", func() bool {
		lead := slices.IndexFunc(members, (*raft.Node).IsLeader)
		if lead < 0 {
			return false
		}
		var err error
		index, _, err = members[lead].Propose(t.Context(), []byte("a record of no version that ever was, with room for a time")).Wait()
		return err == nil
	})
	suite.Eventually(t, "all to have it", func() bool {
		return !slices.ContainsFunc(members, func(m *raft.Node) bool { return m.Status().AppliedIndex < index })
	})
	return index
}

// TestAPoisonedRecordIsSkipped commits a record that no state can apply, so that three nodes stop at every start.
// After it is skipped on each, by index and digest, they must start with everything that was acknowledged before, and
// the audit must record the skip. The command must reject a running node and a valid record.
func TestAPoisonedRecordIsSkipped(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	nodes, token := startThreeIn(t, t.TempDir(), func(*config.NodeFile) {}, 0, 1, 2)
	if out, code := cairntest.Run(t, "remember", "the lamp is lit at dusk", "--endpoints",
		nodes[leaderOf(t, nodes)].Line.Wire, "--token", token); code != 0 {
		t.Fatal(out)
	}
	sameState(t, nodes)
	if _, code := cairntest.Run(t, "recover", "--config", nodes[0].Args[3], "--skip-record", "9"); code != cli.ExitFailed {
		t.Errorf("on a running node: exit %d", code)
	}
	for _, p := range nodes {
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	at := commitPoison(t, nodes)
	stopped := make(chan *cairntest.Node, len(nodes))
	for _, p := range nodes {
		p.Launch()
		go func() {
			_ = p.Wait() // the log has the reason
			stopped <- p
		}()
	}
	for i := range nodes {
		p := <-stopped
		if log := p.Log.String(); i < 2 &&
			(!strings.Contains(log, fmt.Sprintf("record %d", at)) || !strings.Contains(log, "cairn recover")) {
			t.Errorf("%s stopped with:\n%s", p.Args[3], cairntest.Tail(log, 1000))
		}
		if i == 1 { // without a majority the third node may not learn that the record is committed
			for _, p := range nodes {
				p.Cmd.Process.Kill()
			}
		}
	}
	digest := ""
	for _, p := range nodes {
		config := p.Args[3]
		if _, code := cairntest.Run(t, "recover", "--config", config, "--skip-record", fmt.Sprint(at-1)); code != cli.ExitFailed {
			t.Errorf("a record that was applied: exit %d", code)
		}
		stderr, code := cliErr(t, "recover", "--config", config, "--skip-record", fmt.Sprint(at))
		m := regexp.MustCompile(`sha256 ([0-9a-f]{64})`).FindStringSubmatch(stderr)
		if code != cli.ExitFailed || m == nil || digest != "" && m[1] != digest {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		digest = m[1]
		if _, code := cairntest.Run(t, "recover", "--config", config, "--skip-record", fmt.Sprint(at), "--sha256",
			strings.Repeat("0", 64)); code != cli.ExitFailed {
			t.Errorf("another digest: exit %d", code)
		}
	}
	for _, p := range nodes {
		if out, code := cairntest.Run(t, "recover", "--config", p.Args[3], "--skip-record", fmt.Sprint(at), "--sha256", digest); code != 0 {
			t.Fatalf("exit %d, %s", code, out)
		}
	}
	startAll(t, nodes, 0, 1, 2)
	sameState(t, nodes)
	for _, p := range nodes {
		if out, code := cairntest.Run(t, "recall", "lamp dusk", "--endpoints", p.Line.Wire, "--token", token); code != 0 ||
			!strings.Contains(out, "lit at dusk") {
			t.Errorf("exit %d, %s", code, out)
		}
	}
	if out, code := cairntest.Run(t, "audit", "--endpoints", nodes[leaderOf(t, nodes)].Line.HTTP, "--token",
		token); code != 0 || !strings.Contains(out, "skip_record") || !strings.Contains(out, fmt.Sprintf("record %d", at)) {
		t.Errorf("audit: exit %d, %s", code, out)
	}
}

// cliErr runs a command like cli, and returns its stderr and exit code.
func cliErr(t testing.TB, args ...string) (stderr string, code int) {
	t.Helper()
	c := cairntest.Command(t.Context(), args...)
	var b strings.Builder
	c.Stderr = &b
	_ = c.Run() // the exit code is returned
	return b.String(), c.ProcessState.ExitCode()
}
