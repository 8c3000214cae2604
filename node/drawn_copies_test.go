//go:build full

package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// work draws writes and reads, and asks a node for them.
func (d *drawn) work(w *web, n int, without ...*api.Op) {
	w.t.Helper()
	writes, reads := d.operations()
	seldom := []*api.Op{api.Purge.Op, api.ForgetMatching.Op, api.Erase.Op}
	for range n {
		op := writes[d.IntN(len(writes))]
		if d.IntN(3) == 0 {
			op = []*api.Op{api.Remember.Op, api.RememberBatch.Op, api.Put.Op}[d.IntN(3)]
		} else if slices.Contains(seldom, op) && d.IntN(6) > 0 {
			continue
		}
		if slices.Contains(without, op) {
			continue
		}
		r := d.request(op)
		d.statement(r)
		if body, ok := r.body.(obj); ok {
			fadeAlike(body)
		}
		d.ask(w, r)
		d.ask(w, d.request(reads[d.IntN(len(reads))]))
	}
}

// fadeAlike has memories lose importance at the same pace: those of others change places in the seconds of a test.
func fadeAlike(body obj) {
	delete(body, "half_life")
	for _, list := range body {
		items, _ := list.([]any)
		for _, item := range items {
			if m, ok := item.(obj); ok {
				fadeAlike(m)
			}
		}
	}
	if m, ok := body["memory"].(obj); ok {
		fadeAlike(m)
	}
}

// questions draws requests of each operation that reads, but for those about questions that a node was asked itself.
func (d *drawn) questions(n int) (list []request) {
	_, reads := d.operations()
	for range n {
		for _, op := range reads {
			if !ofQuestions(op) {
				list = append(list, d.request(op))
			}
		}
	}
	return list
}

// answer is the answer to a request, without what is of the moment. The order of rows whose scores are about the same
// changes with time.
func (w *web) answer(r request) string {
	w.t.Helper()
	status, out := w.send(r.op.Method(), r.path, r.body)
	settled(out)
	for _, list := range out {
		if rows, ok := list.([]any); ok && len(rows) > 0 {
			if first, _ := rows[0].(obj); first["score"] != nil {
				for _, row := range rows {
					delete(row.(obj), "why_retrieved") // whether it was read lately is a reason
				}
				slices.SortFunc(rows, func(a, b any) int { return strings.Compare(toJSON(w.t, a), toJSON(w.t, b)) })
			}
		}
	}
	return toJSON(w.t, []any{status, out})
}

// sameAnswers asks a copy of a node what the node was asked.
func sameAnswers(t *testing.T, copied *web, questions []request, answers []string) {
	t.Helper()
	for i, r := range questions {
		if got := copied.answer(r); got != answers[i] {
			at := 0
			for at < min(len(got), len(answers[i])) && got[at] == answers[i][at] {
				at++
			}
			from := max(0, at-200)
			t.Errorf("%v: the copy differs:\n… %.500s\n… %.500s", r, answers[i][from:], got[from:])
		}
	}
}

// TestABackupReadsAlike: whatever a node was asked, a home that is restored from its backup answers every operation that
// reads as the node did.
func TestABackupReadsAlike(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond, Every: 3, Keep: 100}
	})
	d, w := newDrawn(*alikeSeed), c.web(0)
	d.work(w, suite.Count(0, 300, 1500))
	questions := d.questions(suite.Count(0, 8, 30))
	var answers []string
	for _, r := range questions {
		answers = append(answers, w.answer(r))
	}
	exported := w.raw("GET", "/v1/export", "")
	applied := c.nodes[0].Service().Applied()
	suite.Eventually(t, "a backup of the last write", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0 && files[len(files)-1].Index >= applied
	})
	c.stop(0)
	c.cfgs[0].Home, c.cfgs[0].Backup = filepath.Join(t.TempDir(), "copy"), operate.BackupPlan{}
	if _, err := home.Restore(t.Context(), c.cfgs[0].Files(), dir, archive.Target{}); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	w = c.web(0)
	sameAnswers(t, w, questions, answers)
	if got := w.raw("GET", "/v1/export", ""); got != exported {
		t.Errorf("exported:\n%.2000s\nbefore:\n%.2000s", got, exported)
	}
}

// TestAnExportReadsAlike: a database into which another's export is imported exports the same lines, has the same keys
// and finds the same memories. Aliases, claims that clients stated, settings and feedback are not in it.
func TestAnExportReadsAlike(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	d, w := newDrawn(*alikeSeed), c.web(0)
	d.work(w, suite.Count(0, 300, 1500), api.Alias.Op, api.Claim.Op, api.Feedback.Op, api.SetSettings.Op)
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	other := w.with(w.newToken(obj{"database": "other", "scopes": []string{"read", "write", "owner", "admin"}}))
	lines := w.raw("GET", "/v1/export", "")
	other.raw("POST", "/v1/import?keep_ids=true", lines)
	was, is := w.lines(), other.lines()
	for id, line := range was {
		if is[id] != line {
			t.Errorf("imported:\n%s\nexported:\n%s", is[id], line)
		}
	}
	for id := range is {
		if was[id] == "" {
			t.Errorf("nothing was exported of %s", id)
		}
	}
	before, after := w.told(), other.told()
	for id := range merged(before, after) {
		if toJSON(t, before[id]) != toJSON(t, after[id]) {
			t.Errorf("%s is %v, and %v in the copy", id, toJSON(t, before[id]), toJSON(t, after[id]))
		}
	}
}

// lines are the lines of an export by their ids.
func (w *web) lines() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(w.raw("GET", "/v1/export", "")) {
		var row obj
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			w.t.Fatal(err)
		}
		id, ok := row["rid"].(string)
		if !ok {
			id = row["edge_id"].(string)
		}
		all[id] = toJSON(w.t, row)
	}
	return all
}

// servedHome has this binary serve a node for TestAKilledNodeReadsAlike, and run no tests.
const servedHome = "CAIRN_TEST_SERVED_HOME"

func init() {
	if dir := os.Getenv(servedHome); dir != "" {
		n, err := node.Open(context.Background(), node.Config{Home: dir, Addresses: node.Addresses{Wire: os.Getenv("CAIRN_TEST_WIRE"), HTTP: os.Getenv("CAIRN_TEST_HTTP"), Cluster: os.Getenv("CAIRN_TEST_CLUSTER")},
			Member: node.Member{NodeID: 1, Secret: secret}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		if err == nil {
			err = n.Ready(context.Background())
		}
		fmt.Println(err)
		select {} // until it is killed
	}
}

// TestAKilledNodeReadsAlike: a node whose process is killed answers every operation that reads as before, and has
// whatever it acknowledged while it was being killed.
func TestAKilledNodeReadsAlike(t *testing.T) {
	t.Parallel()
	dir, http := filepath.Join(t.TempDir(), "h"), rafttest.Addr(t)
	env := append(os.Environ(), servedHome+"="+dir, "CAIRN_TEST_HTTP="+http, "CAIRN_TEST_WIRE="+rafttest.Addr(t), "CAIRN_TEST_CLUSTER="+rafttest.Addr(t))
	run := func() (kill func()) {
		t.Helper()
		p := exec.Command(os.Args[0])
		p.Env, p.Stderr = env, t.Output()
		out, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		kill = func() { _ = p.Process.Kill(); _ = p.Wait() }
		t.Cleanup(kill)
		var said string
		if _, err := fmt.Fscanln(out, &said); err != nil || said != "<nil>" {
			t.Fatalf("the node does not start: %s %v", said, err)
		}
		return kill
	}
	d, w := newDrawn(*alikeSeed), &web{t: t, base: "http://" + http, token: secret}
	for range suite.Count(0, 3, 20) {
		kill := run()
		d.work(w, suite.Count(0, 100, 200))
		questions := d.questions(suite.Count(0, 3, 10))
		var answers []string
		for _, r := range questions {
			answers = append(answers, w.answer(r))
		}
		exported := w.lines()
		kill()
		kill = run()
		sameAnswers(t, w, questions, answers)
		if now := w.lines(); !maps.Equal(now, exported) {
			t.Errorf("after the kill:\n%v\nbefore:\n%v", now, exported)
		}
		acknowledged := make(chan string, 100_000)
		go func() {
			defer close(acknowledged)
			for rid, ok := w.tryRemember(); ok; rid, ok = w.tryRemember() {
				acknowledged <- rid
			}
		}()
		for range 1 + d.IntN(50) {
			exported[suite.Receive(t, "a write", acknowledged)] = ""
		}
		kill()
		for rid := range acknowledged {
			exported[rid] = ""
		}
		kill = run()
		now := w.lines()
		for rid := range exported {
			if now[rid] == "" {
				t.Errorf("%s was acknowledged and is lost", rid)
			}
		}
		kill()
	}
}

// tryRemember stores a memory on a node that may be gone.
func (w *web) tryRemember() (rid string, ok bool) {
	req, _ := http.NewRequestWithContext(w.t.Context(), "POST", w.base+"/v1/remember", strings.NewReader(`{"text":"said while the node dies `+oplog.NewID()+`"}`))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + w.token}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	var out obj
	if json.NewDecoder(resp.Body).Decode(&out) != nil || resp.StatusCode != http.StatusOK {
		return "", false
	}
	return out["rid"].(string), true
}
