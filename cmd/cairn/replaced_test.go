package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/cluster"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestALostNodeIsReplaced runs step 3 of the runbook as printed, after which a new node must join. Without the
// cluster secret the node and the doctor must report the rejection and its reason, and the member that rejects the
// node must log it once.
func TestALostNodeIsReplaced(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	page, err := os.ReadFile("../../deploy/runbooks/node-lost.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile(`(?m)^ +cairn (cluster init .*)$`).FindSubmatch(page)
	if printed == nil {
		t.Fatal("the runbook prints no cluster init")
	}
	dir, base := t.TempDir(), cairntest.FreePorts(t, 3*config.PortsEach)
	secret := home.NewSecret()
	n := config.LocalNode(filepath.Join(dir, "home1"), 1, 1, base, secret)
	n.Master = true
	if err := cluster.Certify(dir, &n); err != nil {
		t.Fatal(err)
	}
	member := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", filepath.Join(dir, "one.toml")},
		Token: secret, CAFile: filepath.Join(dir, "tls", "ca.crt")}
	if err := config.Write(member.Args[3], n, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(member.Kill)
	member.Launch()()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	replace := func(id int, without string) *cairntest.Node {
		t.Helper()
		file, at := filepath.Join(dir, "new"+strconv.Itoa(id)+".toml"), func(offset int) string { return strconv.Itoa(base + config.PortsEach*(id-1) + offset) }
		line := strings.NewReplacer("HOST:7440,HOST:7440", n.Advertise, "HERE:7440", "127.0.0.1:"+at(3), "--node-id M",
			"--node-id "+strconv.Itoa(id), "--secret-file secret", "--secret-file "+filepath.Join(dir, "secret")).
			Replace(string(printed[1]))
		args := append(strings.Fields(strings.Replace(line, without, "", 1)), "--output", file, "--data-dir",
			filepath.Join(dir, "home"+strconv.Itoa(id)),
			"--wire-port", at(0), "--http-port", at(1), "--cluster-port", at(3))
		if out, code := cairntest.Run(t, args...); code != 0 {
			t.Fatalf("%s: exit %d: %s", args, code, out)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		quiet := strings.NewReplacer("[server]", "[server]\nbind = \"127.0.0.1\"", "[cluster]",
			"[local]\ndisable = [\"process\", \"debug\", \"string\", \"sift\", \"covenant\"]\n\n[cluster]").Replace(string(b))
		if err := os.WriteFile(file, []byte(quiet), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", file}, Token: secret, CAFile: member.CAFile}
		t.Cleanup(p.Kill)
		return p
	}
	refused := replace(3, "--secret-file "+filepath.Join(dir, "secret"))
	refused.Launch()
	if !refused.WaitForLog("refused: cluster secret differs") {
		t.Fatalf("the node that is refused:\n%s", refused.Log)
	}
	found, code := cairntest.RunForJSON[[]doctor.Finding](t, "doctor", "--config", refused.Args[3], "--json")
	peers := doctor.Finding{}
	for _, f := range found {
		if f.Check == "peers" {
			peers = f
		}
	}
	if code != cli.ExitFailed || peers.Status != doctor.Fail || !strings.Contains(peers.Says, "refused: cluster secret differs") {
		t.Errorf("doctor: exit %d, %+v", code, found)
	}
	joins := replace(2, "")
	joins.Launch()()
	suite.Eventually(t, "the vote of the node that joins", func() bool {
		s, ok := statusOf(t, member)
		return ok && slices.ContainsFunc(s.Peers, func(p api.Peer) bool {
			return p.NodeID == 2 && p.Voter && p.Reachable && p.SumIndex == s.SumIndex && p.Sum == s.Sum
		})
	})
	if got := strings.Count(member.Log.String(), "peer refused"); got != 1 {
		t.Errorf("the member logs the refusal %d times:\n%s", got, member.Log)
	}
}
