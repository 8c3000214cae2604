package node_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTheClusterSecretIsNoToken checks that in new homes the cluster secret is not a client token, and that each home
// has its own admin token, which all members know.
func TestTheClusterSecretIsNoToken(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Tokens = node.Tokens{ByHome: true} })
	lead := c.leader()
	token := func(i int) string {
		raw, err := os.ReadFile(filepath.Join(c.cfgs[i].Home, "token"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(raw))
	}
	for i := range 3 {
		if status, out := c.web(i).send("GET", "/v1/stats", nil); status != http.StatusUnauthorized {
			t.Errorf("node %d lets the cluster secret in: %d %v", i+1, status, out)
		}
		if _, err := wireClient(t, c.nodes[i].Addrs().Wire, secret); err == nil {
			t.Errorf("node %d lets the cluster secret in over the wire", i+1)
		}
		mine := c.web(lead).with(token(i))
		if got := mine.ok("GET", "/v1/admin/me", nil); got["master"] != false {
			t.Errorf("the token of node %d: %v", i+1, got)
		}
		mine.ok("GET", "/v1/admin/audit", nil)
	}

	other := (lead + 1) % 3
	c.web(lead).with(token(lead)).ok("POST", "/v1/admin/tokens/revoke", obj{"token": token(other)})
	c.stop(other)
	c.open(other)
	c.ready(other)
	if status, out := c.web(other).with(token(other)).send("GET", "/v1/stats", nil); status != http.StatusUnauthorized {
		t.Errorf("a start gave a revoked token back: %d %v", status, out)
	}
}

// TestAnOlderHomeKeepsItsToken checks that in an older home, which has a state and never had its own token, the
// secret is a token and stays one.
func TestAnOlderHomeKeepsItsToken(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(int, *node.Config) {})
	c.stop(0)
	c.cfgs[0].Tokens = node.Tokens{ByHome: true}
	c.open(0)
	c.ready(0)
	c.web(0).ok("GET", "/v1/stats", nil)
	if _, err := os.Stat(filepath.Join(c.cfgs[0].Home, "token")); err == nil {
		t.Error("an old home got a token that nobody asked for")
	}
}

// TestAHomeWhoseTokenIsGone checks that a new home whose token file was removed, or that a restore filled, does not
// count as older: the secret is not a token, and the home gets a new token.
func TestAHomeWhoseTokenIsGone(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Tokens = node.Tokens{ByHome: true} })
	path := filepath.Join(c.cfgs[0].Home, "token")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	if status, out := c.web(0).send("GET", "/v1/stats", nil); status != http.StatusUnauthorized {
		t.Errorf("the cluster secret is let in: %d %v", status, out)
	}
	is, err := os.ReadFile(path)
	if err != nil || string(is) == string(was) {
		t.Fatalf("no other token: %v", err)
	}
	for _, raw := range [][]byte{was, is} { // removing the file does not revoke the token
		if got := c.web(0).with(strings.TrimSpace(string(raw))).ok("GET", "/v1/admin/me", nil); got["master"] != false {
			t.Errorf("%v", got)
		}
	}
}

// TestANewHomeKnowsItsToken checks that a client with HOME/token is let in as soon as a node listens, or is told that
// the node has just started, but never that the token is wrong.
func TestANewHomeKnowsItsToken(t *testing.T) {
	t.Parallel()
	for range 3 {
		c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Tokens = node.Tokens{ByHome: true} })
		c.stop(0)
		if err := os.RemoveAll(c.cfgs[0].Home); err != nil {
			t.Fatal(err)
		}
		c.open(0)
		raw, err := os.ReadFile(filepath.Join(c.cfgs[0].Home, "token"))
		if err != nil {
			t.Fatal(err)
		}
		w := c.web(0).with(strings.TrimSpace(string(raw)))
		suite.Eventually(t, "the token to be known", func() bool {
			status, out := w.send("GET", "/v1/stats", nil)
			if status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Fatalf("HTTP %d %v", status, out)
			}
			return status == http.StatusOK
		})
	}
}

// TestARestoredHomeHasItsOwnToken checks that a home that was restored for a node that the backup does not know gets an
// admin token, and that the cluster secret is none there.
func TestARestoredHomeHasItsOwnToken(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Tokens = node.Tokens{ByHome: true}
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond}
	})
	suite.Eventually(t, "a backup", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0
	})
	c.stop(0)
	cfg := &c.cfgs[0]
	cfg.Home, cfg.Backup, cfg.Member.NodeID = filepath.Join(t.TempDir(), "copy"), operate.BackupPlan{}, 7
	if _, err := home.Restore(t.Context(), cfg.Files(), dir, archive.Target{}); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	if status, out := c.web(0).send("GET", "/v1/stats", nil); status != http.StatusUnauthorized {
		t.Errorf("the cluster secret is let in: %d %v", status, out)
	}
	raw, err := os.ReadFile(filepath.Join(cfg.Home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	c.web(0).with(strings.TrimSpace(string(raw))).ok("GET", "/v1/admin/me", nil)
}
