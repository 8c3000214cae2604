package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestDoctorKnowsALiveNode: without its token, and with its gateway out of reach, a node that runs is not taken for
// damaged files.
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
