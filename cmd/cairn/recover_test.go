package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestRecoverFromALostMajority: two of three nodes lose everything. The third goes on alone, only when it is told so by
// name, with all it had; the others come back with empty homes and are voters again.
func TestRecoverFromALostMajority(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nodes, token := startThreeIn(t, dir, func(*nodeFile) {}, 0, 1, 2)
	l := leaderOf(t, nodes)
	c, err := client.Dial(t.Context(), client.Config{Addrs: []string{nodes[l].line.Wire}, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	acked := map[string]string{}
	for _, text := range []string{"the first", "the second", "the third"} {
		rid, err := putOnce(context.Background(), c, wire.NewRemember(text))
		if err != nil {
			t.Fatal(err)
		}
		acked[rid] = text
	}
	sameState(t, nodes) // leadership may have moved meanwhile, and the node that goes on may be behind
	config := nodes[l].args[3]
	if _, code := cli(t, "cluster", "recover", "--config", config); code != exitFailed {
		t.Errorf("recovering a running node: exit %d", code)
	}
	if _, err := nodes[l].stop(); err != nil {
		t.Fatal(err)
	}
	if _, code := cli(t, "cluster", "recover", "--config", config, "--give-up", others(l)); code != exitFailed {
		t.Errorf("recovering while the majority lives: exit %d", code)
	}
	for i, p := range nodes {
		p.kill()
		if i != l {
			if err := os.RemoveAll(p.line.Home); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, code := cli(t, "cluster", "recover", "--config", config); code != exitUsage {
		t.Errorf("recovering without giving anybody up: exit %d", code)
	}
	if out, code := cli(t, "cluster", "recover", "--config", config, "--give-up", others(l)); code != 0 || !strings.Contains(out, "only member") {
		t.Fatalf("recover: exit %d, %s", code, out)
	}
	if out, code := cli(t, "doctor", "--config", config, "--deep"); code != 0 || !strings.Contains(out, "computed anew") {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	nodes[l].launch()()
	checkExport(t, nodes[l], token, acked)
	for i, p := range nodes {
		if i != l {
			p.launch()()
		}
	}
	if !eventually(func() bool { s, ok := statusOf(t, nodes[l]); return ok && voters(s) == 3 && s.Healthy }) {
		t.Fatal("the others do not come back as voters")
	}
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

// TestDoctor: a healthy node passes; what is wrong is named with what to do.
func TestDoctor(t *testing.T) {
	t.Parallel()
	_, home := startDev(t)
	out, code := cli(t, "doctor", "--home", home)
	words := strings.Join(strings.Fields(out), " ") // columns are wider beside a warning
	for _, want := range []string{"fsync takes", "ok cluster", "only their owner", "the only member", "log at "} {
		if code != 0 || !strings.Contains(words, want) {
			t.Errorf("exit %d, want %q in:\n%s", code, want, out)
		}
	}
	if err := os.Chmod(filepath.Join(home, "token"), 0o644); err != nil {
		t.Fatal(err)
	}
	found := map[string]finding{}
	raw, code := cliJSON[[]finding](t, "doctor", "--home", home, "--json")
	for _, f := range raw {
		found[f.Check] = f
	}
	if f := found["secrets"]; code != exitFailed || f.Status != ill || !strings.Contains(f.Do, "chmod 600") {
		t.Errorf("a token that everybody reads: exit %d, %+v", code, f)
	}
	config := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(config, []byte("[server]\nwire_port = \"x\""), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := cli(t, "doctor", "--config", config); code != exitFailed || !strings.Contains(out, "wire_port") {
		t.Errorf("a configuration that is none: exit %d, %s", code, out)
	}
}

// TestADamagedRowOfANodeThatIsAlone: it is not answered, the doctor says what to do, and a restart heals it.
func TestADamagedRowOfANodeThatIsAlone(t *testing.T) {
	t.Parallel()
	p, home := startDev(t)
	const text = "the lighthouse has a keeper"
	if _, code := cli(t, "remember", text, "--home", home); code != 0 {
		t.Fatal("not remembered")
	}
	for { // a commit may copy the row while it is being changed
		rafttest.Flip(t, filepath.Join(home, "state.db"), text)
		out, code := cli(t, "recall", "keeper", "--home", home)
		if code == exitFailed {
			break
		}
		if !strings.Contains(out, text) {
			t.Fatalf("it answers %s", out)
		}
	}
	if !eventually(func() bool {
		out, code := cli(t, "doctor", "--home", home)
		return code == exitFailed && strings.Contains(out, "its sum differs") && strings.Contains(out, "restart the node")
	}) {
		t.Error("the doctor finds nothing")
	}
	if _, err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p.launch()()
	if out, code := cli(t, "recall", "keeper", "--home", home); code != 0 || !strings.Contains(out, text) {
		t.Errorf("after a restart: exit %d, %s", code, out)
	}
	if out, code := cli(t, "doctor", "--home", home); code != 0 {
		t.Errorf("after a restart: %s", out)
	}
}

// TestDoctorComparesLogAndState: of a stopped node the doctor says how far its log and its state reach, and finds a log
// that was exchanged for an older copy.
func TestDoctorComparesLogAndState(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	look := func() (finding, int) {
		t.Helper()
		list, code := cliJSON[[]finding](t, "doctor", "--home", home, "--deep", "--json")
		for _, f := range list {
			if f.Check == "files" {
				return f, code
			}
		}
		t.Fatalf("no finding about files: %+v", list)
		return finding{}, 0
	}
	run := func(text string) {
		t.Helper()
		p := startDevIn(t, home)
		cli(t, "remember", text, "--home", home)
		if _, err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	run("in both")
	if f, _ := look(); f.Status != well || !strings.Contains(f.Says, "computed anew") || !strings.Contains(f.Says, "log 1 to ") {
		t.Errorf("a node that was stopped: %+v", f)
	}
	old, now := filepath.Join(home, "old-raft"), filepath.Join(home, "raft")
	if err := os.CopyFS(old, os.DirFS(now)); err != nil {
		t.Fatal(err)
	}
	run("in the state alone")
	if err := errors.Join(os.RemoveAll(now), os.Rename(old, now)); err != nil {
		t.Fatal(err)
	}
	if f, code := look(); code != exitFailed || f.Status != ill || !strings.Contains(f.Says, "its tail is lost") {
		t.Errorf("a log that is older than the state: exit %d, %+v", code, f)
	}
}
