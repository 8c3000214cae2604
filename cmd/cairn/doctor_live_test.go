package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestDoctorDoesNotMix checks that the doctor examines only the cluster that the environment names, and ignores a
// home in the working directory. With --home it examines that home and its node.
func TestDoctorDoesNotMix(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	_, home := cairntest.StartDev(t)
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, cli.DefaultHome), 0o755); err != nil { // readable by others, which the doctor would report
		t.Fatal(err)
	}
	p, other := cairntest.StartDev(t)
	look := func(args ...string) string {
		t.Helper()
		c := cairntest.Command(t.Context(), append([]string{"doctor"}, args...)...)
		c.Dir, c.Env = dir, append(c.Environ(), "CAIRN_ENDPOINTS="+p.Line.HTTP, "CAIRN_TOKEN_FILE="+filepath.Join(other, "token"))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := look(); !strings.Contains(out, p.Line.HTTP) || !strings.Contains(out, "the only member") ||
		strings.Contains(out, cli.DefaultHome) {
		t.Errorf("of the cluster alone:\n%s", out)
	}
	if out := look("--home", home, "--token-file", filepath.Join(home, "token")); strings.Contains(out, p.Line.HTTP) ||
		!strings.Contains(out, "the node whose home is "+home) || !strings.Contains(out, "the only member") {
		t.Errorf("of a home:\n%s", out)
	}
}

// TestDoctorKnowsALiveNode checks that the doctor does not report a running node as damaged files if it has no token
// and cannot reach the gateway.
func TestDoctorKnowsALiveNode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, home := cairntest.StartDev(t)
	look := func(more ...string) map[string]doctor.Finding {
		t.Helper()
		found := map[string]doctor.Finding{}
		list, _ := cairntest.RunForJSON[[]doctor.Finding](t, append([]string{"doctor", "--home", home, "--json"}, more...)...)
		for _, f := range list {
			if strings.Contains(f.Do, "move the home aside") || strings.Contains(f.Do, "empty") && f.Status != doctor.OK && p.Cmd != nil {
				t.Errorf("of a running node: %+v", f)
			}
			if _, there := found[f.Check]; !there || f.Status != doctor.OK {
				found[f.Check] = f
			}
		}
		return found
	}
	out := look("--endpoints", "http://"+rafttest.Addr(t))
	if f := out["node"]; f.Status != doctor.Fail || !strings.Contains(f.Says, "a node runs in") {
		t.Errorf("out of reach: %+v", out)
	}
	if f := out["files"]; f.Status != doctor.Warn || !strings.Contains(f.Says, "has them open") {
		t.Errorf("files of a running node: %+v", f)
	}
	if err := os.Rename(filepath.Join(home, "token"), filepath.Join(home, "token.away")); err != nil {
		t.Fatal(err)
	}
	if f := look()["files"]; f.Status == doctor.Fail {
		t.Errorf("without a token: %+v", f)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", strings.TrimPrefix(p.Line.HTTP, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if f := look("--timeout", "1s")["ports"]; f.Status != doctor.Fail || !strings.Contains(f.Says, taken.Addr().String()) {
		t.Errorf("a port that another process has: %+v", f)
	}
	taken.Close()
	if f := look()["ports"]; f.Status != doctor.OK {
		t.Errorf("its own ports: %+v", f)
	}
}
