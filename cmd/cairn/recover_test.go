package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestRecoverFromALostMajority erases two of three nodes. The third must continue alone with all its data, but only
// if the operator names it. The others must rejoin with empty homes and become voters.
func TestRecoverFromALostMajority(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	dir := t.TempDir()
	nodes, token := startThreeIn(t, dir, func(*config.NodeFile) {}, 0, 1, 2)
	l := leaderOf(t, nodes)
	c, err := client.Dial(t.Context(), client.Config{Addrs: []string{nodes[l].Line.Wire}, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	acked := map[string]string{}
	for _, text := range []string{"the first", "the second", "the third"} {
		putAndRecord(t, c, wire.NewRemember(text), acked)
	}
	sameState(t, nodes) // leadership may have moved, and the remaining node may be behind
	config := nodes[l].Args[3]
	if _, code := cairntest.Run(t, "cluster", "recover", "--config", config); code != cli.ExitFailed {
		t.Errorf("recovering a running node: exit %d", code)
	}
	if err := nodes[l].Stop(); err != nil {
		t.Fatal(err)
	}
	if _, code := cairntest.Run(t, "cluster", "recover", "--config", config, "--give-up", others(l)); code != cli.ExitFailed {
		t.Errorf("recovering while the majority lives: exit %d", code)
	}
	for i, p := range nodes {
		p.Kill()
		if i != l {
			if err := os.RemoveAll(p.Line.Home); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, code := cairntest.Run(t, "cluster", "recover", "--config", config); code != cli.ExitUsage {
		t.Errorf("recovering without giving anybody up: exit %d", code)
	}
	if out, code := cairntest.Run(t, "cluster", "recover", "--config", config, "--give-up", others(l)); code != 0 ||
		!strings.Contains(out, "only member") {
		t.Fatalf("recover: exit %d, %s", code, out)
	}
	if _, code := cairntest.Run(t, "cluster", "recover", "--config", config, "--give-up", others(l)); code != cli.ExitUsage {
		t.Errorf("giving up members that there are no more: exit %d", code)
	}
	if out, code := cairntest.Run(t, "doctor", "--config", config, "--deep"); code != 0 || !strings.Contains(out, "computed again") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	nodes[l].Launch()()
	checkExport(t, nodes[l], token, acked)
	for i, p := range nodes {
		if i != l {
			p.Launch()()
		}
	}
	suite.Eventually(t, "the others as voters",
		func() bool { s, ok := statusOf(t, nodes[l]); return ok && cli.Voters(&s, false) == 3 && s.Healthy })
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, acked)
	}
}

func others(l int) string {
	var ids []string
	for i, id := range []string{"1", "2", "3"} {
		if i != l {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, ",")
}

// TestDoctor checks that a healthy node passes, and that each problem is reported with the required action.
func TestDoctor(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	out, code := cairntest.Run(t, "doctor", "--home", home)
	words := strings.Join(strings.Fields(out), " ") // a warning widens the columns
	for _, want := range []string{"fsync takes", "ok cluster", "only their owner", "the only member", "log at "} {
		if code != 0 || !strings.Contains(words, want) {
			t.Errorf("exit %d, want %q in:\n%s", code, want, out)
		}
	}
	if err := os.Chmod(filepath.Join(home, "token"), 0o644); err != nil {
		t.Fatal(err)
	}
	found := map[string]doctor.Finding{}
	raw, code := cairntest.RunForJSON[[]doctor.Finding](t, "doctor", "--home", home, "--json")
	for _, f := range raw {
		found[f.Check] = f
	}
	if f := found["secrets"]; code != cli.ExitFailed || f.Status != doctor.Fail || !strings.Contains(f.Do, "chmod 600") {
		t.Errorf("a token that everybody reads: exit %d, %+v", code, f)
	}
	config := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(config, []byte("[server]\nwire_port = \"x\""), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := cairntest.Run(t, "doctor", "--config", config); code != cli.ExitFailed || !strings.Contains(out, "wire_port") {
		t.Errorf("a configuration that is none: exit %d, %s", code, out)
	}
}

// TestADamagedRowOfANodeThatIsAlone flips bits in the tables of a stopped single node. The doctor must find them. The
// next start must name them and rebuild the state from the log, after which writes must succeed. It does the same
// with an encrypted node.
func TestADamagedRowOfANodeThatIsAlone(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	keyFile := filepath.Join(t.TempDir(), "key")
	writeKeys(t, keyFile, seal.NewMaster())
	for name, flags := range map[string][]string{"plain": nil, "encrypted": {"--key-file", keyFile}} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(shortDir(t), "h")
			p := cairntest.StartDevIn(t, home, flags...)
			for _, text := range []string{"the heron waits at the weir", "the otter sleeps under the bridge"} {
				if _, code := cairntest.Run(t, "remember", text, "--home", home); code != 0 {
					t.Fatal("not remembered")
				}
			}
			stop := func() (whole bool) {
				t.Helper()
				if err := p.Stop(); err != nil {
					t.Fatal(err)
				}
				return !strings.Contains(p.Log.String(), "index closed before it was on disk")
			}
			for !stop() { // the next start would read the value and fail
				p.Launch()()
				sleep(t.Context(), 5*time.Second) // wait until it has written the tables that it could not write while stopping
			}
			rafttest.FlipTables(t, filepath.Join(home, "state"))
			if out, code := cairntest.Run(t, append([]string{"doctor", "--home", home, "--deep"}, flags...)...); code != cli.ExitFailed ||
				!strings.Contains(out, "unreadable state") {
				t.Errorf("the doctor finds nothing: %s", out)
			}
			p.Launch()()
			if out, code := cairntest.Run(t, "recall", "heron", "--home", home); code != 0 || !strings.Contains(out, "weir") {
				t.Errorf("not healed from the log, exit %d: %s", code, out)
			}
			if out, code := cairntest.Run(t, "remember", "the kingfisher is blue", "--home", home); code != 0 {
				t.Errorf("a write, exit %d: %s", code, out)
			}
			if !strings.Contains(p.Log.String(), "state unreadable, moved aside") {
				t.Errorf("the log does not say what was damaged:\n%s", cairntest.Tail(p.Log.String(), 3000))
			}
			if out, code := cairntest.Run(t, append([]string{"doctor", "--home", home}, flags...)...); code != 0 {
				t.Errorf("the doctor after a restart: %s", out)
			}
		})
	}
}

// TestDoctorComparesLogAndState checks that the doctor reports the ends of a stopped node's log and state, and
// detects a log that was replaced by an older copy.
func TestDoctorComparesLogAndState(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	home := filepath.Join(t.TempDir(), "home")
	look := func() (doctor.Finding, int) {
		t.Helper()
		list, code := cairntest.RunForJSON[[]doctor.Finding](t, "doctor", "--home", home, "--deep", "--json")
		for _, f := range list {
			if f.Check == "files" {
				return f, code
			}
		}
		t.Fatalf("no finding about files: %+v", list)
		return doctor.Finding{}, 0
	}
	run := func(text string) {
		t.Helper()
		p := cairntest.StartDevIn(t, home)
		cairntest.Run(t, "remember", text, "--home", home)
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	run("in both")
	if f, _ := look(); f.Status != doctor.OK || !strings.Contains(f.Says, "computed again") || !strings.Contains(f.Says, "log 1 to ") {
		t.Errorf("a node that was stopped: %+v", f)
	}
	old, now := filepath.Join(home, "old-raft"), filepath.Join(home, "raft")
	if err := rafttest.CopyHome(old, now); err != nil {
		t.Fatal(err)
	}
	run("in the state alone")
	if err := errors.Join(os.RemoveAll(now), os.Rename(old, now)); err != nil {
		t.Fatal(err)
	}
	if f, code := look(); code != cli.ExitFailed || f.Status != doctor.Fail || !strings.Contains(f.Says, "its tail is lost") {
		t.Errorf("a log that is older than the state: exit %d, %+v", code, f)
	}
}
