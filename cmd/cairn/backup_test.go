package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/transfer"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

type restored struct {
	Index oplog.Index `json:"index"`
	Hash  string      `json:"state_hash"`
}

// TestBackupUnderLoadRestoresIntoAFreshCluster makes backups while four writers write. A backup must have every write
// that was acknowledged before it began, and three fresh nodes that start from it must have equal states.
func TestBackupUnderLoadRestoresIntoAFreshCluster(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	nodes, token := startThree(t, 0, 1, 2)
	backups := filepath.Join(t.TempDir(), "backups")
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	acked := map[string]string{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			cfg := client.Config{Addrs: wireAddrs(nodes), Token: token}
			writeUntil(ctx, t, cfg, &mu, acked, func(i int) string { return fmt.Sprintf("writer %d memory %d", w, i) })
		})
	}
	backed := connect(t, nodes[:1], token)
	newest := wire.NewRecall("memory")
	newest.SkipReinforce = true
	var last transfer.BackupDone
	var before map[string]string
	for i := range 3 { // a full backup, then two ranges
		waitForWrites(t, &mu, acked, 50)
		mu.Lock()
		before = map[string]string{}
		for k, v := range acked {
			before[k] = v
		}
		mu.Unlock()
		recallNow(t, backed, newest) // wait until the node has applied every acknowledged write
		last = jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--endpoints", nodes[0].Line.HTTP, "--token", token)
		if (last.Since == 0) != (i == 0) {
			t.Errorf("backup %d begins at %d", i, last.Since)
		}
	}
	stop()
	wg.Wait()
	if got := jsonOf[restored](t, "backup", "verify", backups); got.Index != last.Index || got.Hash != last.Hash {
		t.Errorf("verify says %+v, the backup %+v", got, last)
	}

	dir := t.TempDir()
	fresh := freshThree(t, dir, token)
	got := jsonOf[restored](t, "restore", "--from", backups, "--config", fresh[0].Args[3])
	if got.Index != last.Index || got.Hash != last.Hash {
		t.Errorf("restored %+v, the backup says %+v", got, last)
	}
	ups := make([]func(), 3)
	for i, p := range fresh {
		ups[i] = p.Launch()
	}
	for _, up := range ups {
		up()
	}
	leader := fresh[leaderOf(t, fresh)]
	suite.Eventually(t, "the fresh nodes to be three voters",
		func() bool { s, ok := statusOf(t, leader); return ok && cli.Voters(&s, false) == 3 })
	if _, code := cairntest.Run(t, "remember", "life goes on", "--endpoints", leader.Line.Wire, "--token", token); code != 0 {
		t.Error("the restored cluster takes no writes")
	}
	sameState(t, fresh)
	for _, p := range fresh {
		checkExport(t, p, token, before)
	}
	out, code := cairntest.Run(t, "restore", "--from", backups, "--database", "default", "--into", "beside", "--endpoints",
		leader.Line.Wire, "--token", token)
	if code != 0 || !strings.Contains(out, "memories") {
		t.Errorf("one database into the living cluster: exit %d, %s", code, out)
	}
	sameState(t, fresh)
	out, code = cairntest.Run(t, "recall", "writer 1 memory 1", "--db", "beside", "--consistency", "linearizable",
		"--endpoints", fresh[(leaderOf(t, fresh)+1)%3].Line.Wire, "--token", token)
	if code != 0 || !strings.Contains(out, "writer 1 memory 1") {
		t.Errorf("recall from the restored database on a follower: exit %d, %s", code, out)
	}
	t.Logf("%d memories were acknowledged before the last backup, at index %d", len(before), last.Index)
}

// freshThree returns three configured nodes that have never started.
func freshThree(t *testing.T, dir, token string) (nodes []*cairntest.Node) {
	t.Helper()
	base := cairntest.FreePorts(t, 3*config.PortsEach)
	for i := range 3 {
		n := config.LocalNode(filepath.Join(dir, fmt.Sprint("fresh", i+1)), i+1, 3, base, token)
		n.ElectionMS, n.Master = electionMS(longElectionMS), true
		path := filepath.Join(dir, fmt.Sprintf("fresh%d.toml", i+1))
		if err := config.Write(path, n, nil); err != nil {
			t.Fatal(err)
		}
		p := &cairntest.Node{T: t, Args: []string{"serve", "--strict", "--config", path}, Token: token}
		t.Cleanup(p.Kill)
		nodes = append(nodes, p)
	}
	return nodes
}

// TestPointInTime restores to an index between two writes, which must bring back only the first, and restores one
// database into a live node next to its other databases.
func TestPointInTime(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	p, home := cairntest.StartDev(t)
	backups := filepath.Join(t.TempDir(), "backups")
	remember := func(text string) {
		t.Helper()
		if _, code := cairntest.Run(t, "remember", text, "--home", home); code != 0 {
			t.Fatalf("not remembered: %q", text)
		}
	}
	remember("before the first backup")
	jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", home)
	remember("the first of two")
	var between uint64
	suite.Eventually(t, "a status", func() bool { s, ok := statusOf(t, p); between = uint64(s.Applied); return ok })
	cut := time.Now()
	remember("the second of two")
	jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", home)
	nothing := func() bool {
		return jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", home).Path == ""
	}
	suite.Eventually(t, "no new backup of nothing", nothing) // a node writes a few records itself after its start
	for _, at := range []string{fmt.Sprint(between), cut.UTC().Format(time.RFC3339Nano)} {
		old := filepath.Join(t.TempDir(), "old")
		jsonOf[restored](t, "restore", "--from", backups, "--home", old, "--at", at)
		q := &cairntest.Node{T: t, Args: []string{"dev", "--home", old, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
		t.Cleanup(q.Kill)
		q.Launch()()
		out, code := cairntest.Run(t, "export", "--home", old)
		if code != 0 || !strings.Contains(out, "the first of two") || strings.Contains(out, "the second of two") ||
			!strings.Contains(out, "before the first") {
			t.Errorf("at %s: exit %d, %s", at, code, out)
		}
		q.Kill()
	}
	if _, code := cairntest.Run(t, "restore", "--from", backups, "--home", home); code != cli.ExitFailed {
		t.Errorf("a restore over a living home: exit %d", code)
	}
	if out, err := cairntest.Command(t.Context(), "restore", "--from", backups, "--database", "nope", "--home", home).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "the backup has no database 'nope': it has default\n") {
		t.Errorf("of a database that the backup lacks: %s", out)
	}
	out, code := cairntest.Run(t, "restore", "--from", backups, "--database", "default", "--into", "second", "--home", home)
	if code != 0 || !strings.Contains(out, "3 memories") {
		t.Errorf("one database into a live node: exit %d, %s", code, out)
	}
	whole, _ := cairntest.Run(t, "export", "--home", home)
	if again, _ := cairntest.Run(t, "export", "second", "--home", home); again != whole || whole == "" {
		t.Errorf("restored:\n%s\nwant:\n%s", again, whole)
	}
	if out, _ := cairntest.Run(t, "recall", "which came second of two", "--db", "second", "--home",
		home); !strings.Contains(out, "the second of two") {
		t.Errorf("recall from the restored database: %s", out)
	}
}

// TestADownloadGoesOnWhereItBroke cuts the first download in a proxy, and checks that the second run requests only
// the rest.
func TestADownloadGoesOnWhereItBroke(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, home := cairntest.StartDev(t)
	cairntest.Run(t, "remember", "something to keep", "--home", home)
	backend, err := url.Parse(p.Line.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	var mu sync.Mutex
	var ranges []string
	cut := true
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		download := r.Method == http.MethodGet
		if download {
			ranges = append(ranges, r.Header.Get("Range"))
		}
		breakOff := download && cut
		cut = cut && !download
		mu.Unlock()
		if !breakOff {
			proxy.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		proxy.ServeHTTP(rec, r)
		w.Header().Set("Content-Length", rec.Header().Get("Content-Length"))
		w.WriteHeader(rec.Code)
		io.CopyN(w, rec.Body, 100)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer front.Close()
	backups := filepath.Join(t.TempDir(), "b")
	args := []string{"backup", "--to", backups, "--endpoints", front.URL, "--home", home}
	if _, code := cairntest.Run(t, args...); code != cli.ExitFailed {
		t.Fatalf("a download that broke off: exit %d", code)
	}
	if st, err := os.Stat(filepath.Join(backups, ".download")); err != nil || st.Size() != 100 {
		t.Fatalf("what arrived is not kept: %v, %v", st, err)
	}
	done := jsonOf[transfer.BackupDone](t, args...)
	if last := ranges[len(ranges)-1]; last != "bytes=100-" {
		t.Errorf("the rest was asked for as %q", last)
	}
	if got := jsonOf[restored](t, "backup", "verify", backups); got.Hash != done.Hash {
		t.Errorf("verify: %+v, backup: %+v", got, done)
	}
}

// TestAnIncrementalBackupLeadsOverAPurge checks that the backup after a purge is incremental and lacks the purged
// text. The chain must restore the cluster as it was, without the text, and restore another database to a point
// within the chain.
func TestAnIncrementalBackupLeadsOverAPurge(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: many commands, each a process")
	}
	p, source := cairntest.StartDev(t)
	backups := filepath.Join(t.TempDir(), "backups")
	run := func(args ...string) string {
		t.Helper()
		out, code := cairntest.Run(t, args...)
		if code != 0 {
			t.Fatalf("cairn %s: exit %d, %s", strings.Join(args, " "), code, out)
		}
		return out
	}
	remember := func(text, db string) { t.Helper(); run("remember", text, "--db", db, "--home", source) }
	applied := func() (at oplog.Index) {
		suite.Eventually(t, "a status", func() bool { s, ok := statusOf(t, p); at = oplog.Index(s.Applied); return ok })
		return at
	}
	run("db", "create", "other", "--home", source)
	remember("Quixotelyn Vandermarck works at Zorblax Industries", "default")
	remember("the neighbour's first", "other")
	jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", source)
	remember("Quixotelyn moves to Lisbon", "default")
	remember("the neighbour's second", "other")
	var purged api.Purged
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: filepath.Join(source, "token"), Timeout: time.Minute}
	if err := tg.GetAt(t.Context(), "POST", p.Line.HTTP+"/v1/admin/purge",
		map[string]any{"before": time.Now().Add(time.Minute).UTC().Format(time.RFC3339)}, &purged); err != nil || purged.Count != 2 {
		t.Fatalf("purge: %+v, %v", purged, err)
	}
	remember("what is said after the purge", "default")
	point := applied()
	remember("the neighbour's third", "other")
	done := jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", source)
	if found := findMarked(t, backups); done.Since == 0 || len(found) != 1 || strings.Contains(found[0], filepath.Base(done.Path)) {
		t.Fatalf("the backup behind the purge is %+v; the purged word is in %v", done, found)
	}
	if out := run("backup", "verify", backups); !strings.Contains(out,
		fmt.Sprintf("2 files restore to index %d, state %s", done.Index, done.Hash)) {
		t.Errorf("verify: %s", out)
	}

	into := filepath.Join(t.TempDir(), "into")
	if got := jsonOf[restored](t, "restore", "--from", backups, "--home", into); got.Index != done.Index || got.Hash != done.Hash {
		t.Errorf("restored %+v; the backup is %+v", got, done)
	}
	if found := findMarked(t, into); len(found) != 0 {
		t.Errorf("the restored home holds the purged word in %v", found)
	}
	q := cairntest.StartDevIn(t, into)
	for _, db := range []string{"default", "other"} {
		if got, want := run("export", db, "--home", into), run("export", db, "--home", source); got != want || want == "" {
			t.Errorf("%s:\n%s\nwant:\n%s", db, got, want)
		}
	}
	if err := q.Stop(); err != nil {
		t.Fatal(err)
	}
	if found := findMarked(t, into); len(found) != 0 {
		t.Errorf("after a run, the restored home holds the purged word in %v", found)
	}

	c := cairntest.Command(t.Context(), "restore", "--from", backups, "--home", filepath.Join(t.TempDir(), "inside"), "--at",
		fmt.Sprint(point))
	if out, err := c.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), fmt.Sprintf("no entries of default; ask for index %d", done.Index)) ||
		!strings.Contains(string(out), "--database") {
		t.Errorf("a point behind the purge: %v, %s", err, out)
	}
	run("restore", "--from", backups, "--database", "other", "--into", "again", "--at", fmt.Sprint(point), "--home", source)
	if out := run("export", "again", "--home", source); !strings.Contains(out, "first") || !strings.Contains(out, "second") ||
		strings.Contains(out, "third") {
		t.Errorf("the other database at that point: %s", out)
	}
}
