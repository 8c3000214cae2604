package node_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/store/storetest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAPurgeIsNoConcernOfOthers checks that a subscriber of another database resumes across a purge without missing
// events, while no file of the log contains purged rows. A subscriber of the purged database is told that events are
// missing.
func TestAPurgeIsNoConcernOfOthers(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	other := w.with(w.createToken(obj{"database": "other"}))
	first := w.ok("POST", "/v1/remember", obj{"text": "quixotelyn said so"})["log_index"].(string)
	var want []string
	for i := range 5 {
		want = append(want, other.ok("POST", "/v1/remember", obj{"text": fmt.Sprint("of another tenant ", i)})["rid"].(string))
		w.ok("POST", "/v1/remember", obj{"text": fmt.Sprint("quixotelyn said ", i)})
	}
	purged := w.ok("POST", "/v1/admin/purge", obj{"before": time.Now().Add(time.Minute).UTC().Format(time.RFC3339)})["log_index"]
	dir := c.cfgs[0].Home
	suite.Eventually(t, "the files to be written anew", func() bool {
		e, err := home.ReadErased(dir)
		return err == nil && e.Rewritten >= position(t, purged)
	})
	storetest.Files(t, filepath.Join(dir, "raft", "log"), func(path string, held []byte) {
		if bytes.Contains(held, []byte("quixotelyn")) {
			t.Errorf("%s holds what was purged", path)
		}
	})
	from := "?from=" + first
	l := other.listen(from)
	l.next() // subscribed
	for i, rid := range want {
		if _, name, data := l.next(); name != "stored" || data["id"] != rid {
			t.Fatalf("the other database's event %d is %s %v, want %s stored", i, name, data, rid)
		}
	}
	l = w.listen(from)
	l.next() // subscribed
	if _, name, data := l.next(); name != "lagged" {
		t.Errorf("the purged database's first event is %s %v", name, data)
	}
}

// TestAMemberThatIsAwayWhileTheLogIsPurged checks a member whose last record is one of a memory that the others
// erased while it was away. It counts as correct and applies the purge.
func TestAMemberThatIsAwayWhileTheLogIsPurged(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	l := c.leader()
	away := (l + 1) % 3
	w := c.web(l)
	for i := range 3 {
		w.ok("POST", "/v1/remember", obj{"text": fmt.Sprint("quixotelyn said ", i)})
	}
	c.agree()
	c.stop(away)
	purged := w.ok("POST", "/v1/admin/purge", obj{"before": time.Now().Add(time.Minute).UTC().Format(time.RFC3339)})["log_index"]
	erased := func(i int) {
		suite.Eventually(t, fmt.Sprintf("node %d to hold nothing of it", i+1), func() bool {
			e, err := home.ReadErased(c.cfgs[i].Home)
			return err == nil && e.Rewritten >= position(t, purged)
		})
	}
	erased(l)
	erased((l + 2) % 3)
	c.open(away)
	c.ready(away)
	c.agree()
	erased(away)
	if aside := home.SetAsideNames(c.cfgs[away].Home); len(aside) > 0 {
		t.Errorf("it gave up %v", aside)
	}
}
