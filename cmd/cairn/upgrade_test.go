package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// oldest is the version that clusters may be upgraded from: the last one that does not tell what it reads. A commit that
// changes what Apply makes of an operation that exists moves it, and ends upgrades without a stop across that commit.
const oldest = "35c8dc8aa2690534b7f11aeae36acdc199b19df4"

// oldBinary builds the oldest version from this repository's history, or says why it cannot.
func oldBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in -short: builds another version")
	}
	rev, dir := cmp.Or(os.Getenv("CAIRN_OLD"), oldest), t.TempDir()
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("no git history to build an older version from: %v", err)
	}
	tree := exec.Command("git", "archive", "--output", filepath.Join(dir, "old.tar"), rev)
	tree.Dir = strings.TrimSpace(string(top))
	if out, err := tree.CombinedOutput(); err != nil {
		t.Skipf("the history does not reach back to %s: %v: %s", rev, err, out)
	}
	if out, err := exec.Command("tar", "-x", "-f", filepath.Join(dir, "old.tar"), "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	bin := filepath.Join(dir, "cairn-old")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "./cmd/cairn")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build of %s: %v: %s", rev, err, out)
	}
	return bin
}

// load writes and recalls through clients that try each request again once at most.
type load struct {
	stop  context.CancelFunc
	tasks sync.WaitGroup
	mu    sync.Mutex
	acked map[string]string
	again int // requests that were tried a second time

	still sync.RWMutex // who holds it for writing has everybody wait
}

// putLoad puts three writers and a reader to work. A request that fails twice fails the test.
func putLoad(t *testing.T, nodes []*nodeProcess, token string) *load {
	t.Helper()
	addrs := wires(nodes)
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, acked: map[string]string{}}
	twice := func(what string, f func(context.Context) error) bool {
		for try := 1; ; try++ {
			l.still.RLock()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := f(ctx)
			cancel()
			l.still.RUnlock()
			if err == nil {
				return true
			}
			if try == 2 {
				t.Errorf("%s failed twice: %v", what, err)
				return false
			}
			l.mu.Lock()
			l.again++
			l.mu.Unlock()
		}
	}
	for w := range 4 {
		l.tasks.Go(func() {
			c, err := client.Dial(t.Context(), client.Config{Addrs: addrs[w%3:], Token: token})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for i := 0; ctx.Err() == nil; i++ {
				if w == 3 {
					if !twice("recall", func(ctx context.Context) error {
						_, _, err := c.Recall(ctx, wire.NewRecall("memory"))
						return err
					}) {
						return
					}
					continue
				}
				m := wire.NewRemember(fmt.Sprintf("Maria Lopez%d works for Siemens%d", i, w)) // it states a fact, which newer versions find
				m.IdempotencyKey = client.NewKey()
				if !twice("remember", func(ctx context.Context) error {
					rid, err := c.Remember(ctx, m)
					if err == nil {
						l.mu.Lock()
						l.acked[rid] = m.Text
						l.mu.Unlock()
					}
					return err
				}) {
					return
				}
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.tasks.Wait()
}

func (l *load) goesOn(t *testing.T) { t.Helper(); waitForWrites(t, &l.mu, l.acked, 30) }

// oneByOne stops and starts the nodes one after the other, the leader last, under load.
func oneByOne(t *testing.T, nodes []*nodeProcess, l *load, between func(p *nodeProcess, left int)) {
	t.Helper()
	done := map[*nodeProcess]bool{}
	for left := len(nodes); left > 0; left-- {
		lead := nodes[leaderOf(t, nodes)]
		var next *nodeProcess
		for _, p := range nodes {
			if !done[p] && (next == nil || p != lead) {
				next = p
			}
		}
		l.goesOn(t)
		if _, err := next.stop(); err != nil {
			t.Fatalf("stop: %v\n%s", err, next.log)
		}
		done[next], next.bin = true, ""
		l.goesOn(t)
		next.launch()()
		l.goesOn(t)
		between(next, left-1)
	}
}

// TestARollingRestartFailsNoRequest: nodes are restarted one after the other under load; no request fails beyond one
// repetition, and nothing that was acknowledged is lost.
func TestARollingRestartFailsNoRequest(t *testing.T) {
	nodes, token := startThree(t, 0, 1, 2)
	l := putLoad(t, nodes, token)
	oneByOne(t, nodes, l, func(*nodeProcess, int) {})
	l.end()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, l.acked)
	}
	t.Logf("%d writes acknowledged, %d requests tried a second time", len(l.acked), l.again)
}

// TestARollingUpgradeFailsNoRequest: three nodes of an older version are replaced one after the other under load. While
// one of them is left, what it could not read is refused with its name; afterwards it is taken, and the older version
// is not let in any more.
func TestARollingUpgradeFailsNoRequest(t *testing.T) {
	bin := oldBinary(t)
	nodes, token := threeIn(t, t.TempDir(), inHaste)
	for _, p := range nodes {
		p.bin = bin
	}
	startAll(t, nodes, 0, 1, 2)
	t.Setenv("CAIRN_TOKEN", token)
	l := putLoad(t, nodes, token)
	quota := func() (string, error) {
		tg := target{http: nodes[leaderOf(t, nodes)].line.HTTP, timeout: time.Minute}
		var out quotaRow
		err := tg.get(t.Context(), "POST", "/v1/admin/databases/default/quota", map[string]any{"max_rps": 1_000_000}, &out)
		if err != nil {
			return err.Error(), err
		}
		return "", nil
	}
	oneByOne(t, nodes, l, func(p *nodeProcess, left int) {
		if left == 1 {
			// The last to be replaced leads: have a new one lead, so that it is asked what the old one reads.
			if !eventually(func() bool {
				lead := nodes[leaderOf(t, nodes)]
				if lead.bin == bin {
					cli(t, "cluster", "transfer", "--node-id", fmt.Sprint(p.line.NodeID), "--url", lead.line.HTTP)
				}
				return lead.bin == ""
			}) {
				t.Error("leadership does not go to the new version")
			}
			if !eventually(func() bool {
				said, _ := quota()
				return strings.Contains(said, "does not read set_limit: upgrade it first")
			}) {
				said, _ := quota()
				t.Errorf("a new kind beside an old member: %q", said)
			}
			if _, code := cli(t, "db", "create", "during", "--addr", p.line.Wire); code != 0 {
				t.Error("a database cannot be made during an upgrade")
			}
			l.still.Lock() // under load no two are at the same record for long
			defer l.still.Unlock()
			sameState(t, nodes)
		}
	})
	asked := 0 // an answer that was lost is asked for again
	if !eventually(func() bool { asked++; _, err := quota(); return err == nil }) {
		said, _ := quota()
		t.Errorf("a new kind after the upgrade: %q", said)
	}
	rows := jsonOf[[]node.AuditRow](t, "audit", "--url", nodes[leaderOf(t, nodes)].line.HTTP)
	if len(rows) < 1 || len(rows) > asked || slices.ContainsFunc(rows, func(r node.AuditRow) bool { return r.What != "set_limit" }) {
		t.Errorf("the audit after the upgrade, asked %d times: %+v", asked, rows)
	}
	back := nodes[(leaderOf(t, nodes)+1)%3]
	if _, err := back.stop(); err != nil {
		t.Fatal(err)
	}
	back.bin = bin
	back.launch()
	if !eventually(func() bool { // whoever leads says it
		return slices.ContainsFunc(nodes, func(p *nodeProcess) bool {
			return p != back && strings.Contains(p.log.String(), "the log holds operations that the peer")
		})
	}) {
		t.Error("the older version is let in again, or nobody says why not")
	}
	l.goesOn(t)
	back.kill()
	back.bin = ""
	back.launch()()
	l.end()
	sameState(t, nodes)
	for _, p := range nodes {
		checkExport(t, p, token, l.acked)
	}
	t.Logf("%d writes acknowledged, %d requests tried a second time", len(l.acked), l.again)
}
