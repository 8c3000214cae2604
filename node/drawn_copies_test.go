//go:build full

package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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

// work sends random writes and reads to a node.
func (d *generator) work(w *web, n int, without ...*api.Op) {
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

// fadeAlike gives all memories the same decay, so that their order does not change during a test.
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

// questions draws requests of each read operation, except those about the node's own questions, and prompts, in which
// rows of similar scores change places with time.
func (d *generator) questions(n int) (list []request) {
	_, reads := d.operations()
	for range n {
		for _, op := range reads {
			if !returnsQuestions(op) && op != api.Prompt.Op && op != api.PackContext.Op {
				list = append(list, d.request(op))
			}
		}
	}
	return list
}

// answer returns the answer to a request without fields of the moment. The order of rows with similar scores changes
// with time.
func (w *web) answer(r request) string {
	w.t.Helper()
	status, out := w.send(r.op.Method(), r.path, r.body)
	removeVolatile(out)
	for _, list := range out {
		if rows, ok := list.([]any); ok && len(rows) > 0 {
			if first, _ := rows[0].(obj); first["score"] != nil {
				for _, row := range rows {
					delete(row.(obj), "why_retrieved") // recent reads are a reason
					delete(row.(obj), "score")         // equal scores stay equal only while both decay at the same pace
				}
				slices.SortFunc(rows, func(a, b any) int { return strings.Compare(toJSON(w.t, a), toJSON(w.t, b)) })
			}
		}
	}
	return toJSON(w.t, []any{status, out})
}

// answers returns a node's answers to questions, and its export. Its reads may cause writes of reinforcements, so it
// tries again until the log stood still. It returns the index.
func (w *web) answers(questions []request) (list []string, exported map[string]string, at oplog.Index) {
	w.t.Helper()
	suite.Eventually(w.t, "a node that writes nothing", func() bool {
		list, at = nil, w.applied()
		for _, r := range questions {
			list = append(list, w.answer(r))
		}
		exported = linesOf(w.t, w.raw("GET", "/v1/export", ""))
		return w.applied() == at
	})
	return list, exported, at
}

// applied returns the index up to which a node has applied the log, after everything that was acknowledged.
func (w *web) applied() oplog.Index {
	w.t.Helper()
	return oplog.Index(w.ok("POST", "/v1/recall",
		obj{"query": "x", "explain": true, "skip_reinforce": true, "consistency": "linearizable"})["index"].(float64))
}

// differs returns the answers in which a copy differs from the original.
func differs(copied *web, questions []request, answers []string, exported map[string]string) (all []string) {
	copied.t.Helper()
	copied.applied() // from now on even stale reads are complete
	for i, r := range questions {
		if got := copied.answer(r); got != answers[i] {
			at := 0
			for at < min(len(got), len(answers[i])) && got[at] == answers[i][at] {
				at++
			}
			from := max(0, at-200)
			all = append(all, fmt.Sprintf("%v\n… %.500s\n… %.500s", r, answers[i][from:], got[from:]))
		}
	}
	now := linesOf(copied.t, copied.raw("GET", "/v1/export", ""))
	for id := range merged(exported, now) {
		if now[id] != exported[id] {
			all = append(all, exported[id]+"\nis exported as\n"+now[id])
		}
	}
	return all
}

// TestABackupReadsAlike checks that a home restored from a backup gives the same answers to every read as the node
// did.
func TestABackupReadsAlike(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond, Every: 3, Keep: 100}
	})
	d, w := newGenerator(*alikeSeed), c.web(0)
	d.work(w, suite.Count(0, 300, 1500))
	questions := d.questions(suite.Count(0, 8, 30))
	answers, exported, applied := w.answers(questions)
	suite.Eventually(t, "a backup of the last write", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0 && files[len(files)-1].Index >= applied
	})
	c.stop(0)
	c.cfgs[0].Home, c.cfgs[0].Backup = filepath.Join(t.TempDir(), "copy"), operate.BackupPlan{}
	if _, err := home.Restore(t.Context(), c.cfgs[0].Files(), dir, archive.Target{Index: applied}); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	for _, what := range differs(c.web(0), questions, answers, exported) {
		t.Errorf("the copy differs: %s", what)
	}
}

// TestAnExportReadsAlike checks that a database that imports another's export exports the same lines, has the same
// keys and recalls the same memories. Aliases, stated claims, settings and feedback are not exported.
func TestAnExportReadsAlike(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	d, w := newGenerator(*alikeSeed), c.web(0)
	d.work(w, suite.Count(0, 300, 1500), api.Alias.Op, api.Claim.Op, api.Feedback.Op, api.SetSettings.Op)
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	other := w.with(w.createToken(obj{"database": "other", "scopes": []string{"read", "write", "owner", "admin"}}))
	lines := w.raw("GET", "/v1/export", "")
	other.raw("POST", "/v1/import?keep_ids=true", lines)
	was, is := linesOf(t, lines), linesOf(t, other.raw("GET", "/v1/export", ""))
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
	before, after := w.exportContent(), other.exportContent()
	for id := range merged(before, after) {
		if toJSON(t, before[id]) != toJSON(t, after[id]) {
			t.Errorf("%s is %v, and %v in the copy", id, toJSON(t, before[id]), toJSON(t, after[id]))
		}
	}
}

// linesOf returns the lines of an export by id.
func linesOf(t testing.TB, exported string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(exported) {
		var row obj
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		id, ok := row["rid"].(string)
		if !ok {
			id = row["edge_id"].(string)
		}
		all[id] = toJSON(t, row)
	}
	return all
}

// servedHome makes this binary serve a node for TestAKilledNodeReadsAlike instead of running tests.
const servedHome = "CAIRN_TEST_SERVED_HOME"

func init() {
	if dir := os.Getenv(servedHome); dir != "" {
		n, err := node.Open(context.Background(),
			node.Config{Home: dir,
				Addresses: node.Addresses{Wire: os.Getenv("CAIRN_TEST_WIRE"), HTTP: os.Getenv("CAIRN_TEST_HTTP"),
					Cluster: os.Getenv("CAIRN_TEST_CLUSTER")},
				Member: node.Member{NodeID: 1, Secret: secret}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		if err == nil {
			err = n.Ready(context.Background())
		}
		fmt.Println(err)
		select {} // runs until it is killed
	}
}

// TestAKilledNodeReadsAlike checks that a node whose process was killed gives the same answers to every read as
// before, and has everything that it acknowledged until then.
func TestAKilledNodeReadsAlike(t *testing.T) {
	t.Parallel()
	dir, http := filepath.Join(t.TempDir(), "h"), rafttest.Addr(t)
	env := append(os.Environ(), servedHome+"="+dir, "CAIRN_TEST_HTTP="+http, "CAIRN_TEST_WIRE="+rafttest.Addr(t),
		"CAIRN_TEST_CLUSTER="+rafttest.Addr(t))
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
	d, w := newGenerator(*alikeSeed), &web{t: t, base: "http://" + http, token: secret}
	for range suite.Count(0, 3, 20) {
		kill := run()
		d.work(w, suite.Count(0, 100, 200))
		questions := d.questions(suite.Count(0, 3, 10))
		var different []string
		for range 3 { // reinforcements may be written just before the kill
			answers, exported, _ := w.answers(questions)
			kill()
			kill = run()
			if different = differs(w, questions, answers, exported); different == nil {
				break
			}
		}
		for _, what := range different {
			t.Errorf("after the kill: %s", what)
		}
		acknowledged := make(chan string, 100_000)
		go func() {
			defer close(acknowledged)
			for rid, ok := w.tryRemember(); ok; rid, ok = w.tryRemember() {
				acknowledged <- rid
			}
		}()
		kept := map[string]bool{}
		for range 1 + d.IntN(50) {
			kept[suite.Receive(t, "a write", acknowledged)] = true
		}
		kill()
		for rid := range acknowledged {
			kept[rid] = true
		}
		kill = run()
		now := linesOf(t, w.raw("GET", "/v1/export", ""))
		for rid := range kept {
			if now[rid] == "" {
				t.Errorf("%s was acknowledged and is lost", rid)
			}
		}
		kill()
	}
}

// tryRemember stores a memory on a node that may have stopped.
func (w *web) tryRemember() (rid string, ok bool) {
	req, _ := http.NewRequestWithContext(w.t.Context(), "POST", w.base+"/v1/remember",
		strings.NewReader(`{"text":"said while the node dies `+oplog.NewID()+`"}`))
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
