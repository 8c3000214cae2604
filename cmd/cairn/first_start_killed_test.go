package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAFirstStartThatIsKilled checks that the home of a node whose first start was killed is no home of an older
// version: the cluster secret is no token at the next start.
func TestAFirstStartThatIsKilled(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	cut := 0
	for range 5 {
		dir, base, secret := t.TempDir(), cairntest.FreePorts(t, 2), home.NewSecret()
		data, conf := filepath.Join(dir, "data"), filepath.Join(dir, "node.toml")
		text := fmt.Sprintf("[server]\nbind = \"127.0.0.1\"\nwire_port = %d\nhttp_port = %d\ndata_dir = %q\n"+
			"[local]\ndisable = [\"process\", \"debug\", \"string\", \"sift\", \"covenant\"]\n[cluster]\ncluster_secret = %q\n",
			base, base+1, data, secret)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", conf}}
		t.Cleanup(p.Kill)
		p.Launch()
		for end := time.Now().Add(suite.Patience); ; runtime.Gosched() { // what follows the state takes a few milliseconds
			if _, err := os.Stat(filepath.Join(data, home.StateDir)); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("no state:\n%s", p.Log)
			}
		}
		p.Kill()
		if _, err := os.Stat(filepath.Join(data, "raft", "log")); err == nil {
			continue // it was too fast
		}
		cut++
		p.Launch()()
		if out, code := cairntest.Run(t, "stats", "--endpoints", p.Line.HTTP, "--token", secret); code == cli.ExitOK {
			t.Errorf("the cluster secret is let in: %s", out)
		}
		if _, code := cairntest.Run(t, "stats", "--home", data); code != cli.ExitOK {
			t.Errorf("the home has no token that is valid: exit %d\n%s", code, p.Log)
		}
		p.Kill()
	}
	if cut == 0 {
		t.Error("no start was killed before it had a log")
	}
}
