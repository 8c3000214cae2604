package index_test

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/oplog/suite"
)

// replica is a state and the index that follows it, as a node holds them.
type replica struct {
	t     testing.TB
	home  string
	state *statetest.State
	index *index.Index
	cfg   index.Config // but for Dir and State
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openReplica(t testing.TB) *replica { return openReplicaWith(t, index.Config{}) }

func openReplicaWith(t testing.TB, cfg index.Config) *replica {
	t.Helper()
	r := &replica{t: t, home: t.TempDir(), cfg: cfg}
	var err error
	if r.state, err = statetest.Open(filepath.Join(r.home, "state"), state.Options{NoSync: true}, statetest.NewLog()); err != nil {
		t.Fatal(err)
	}
	r.openIndex()
	t.Cleanup(r.close)
	return r
}

func (r *replica) close() {
	r.index.Close()
	r.state.Close()
}

func (r *replica) dir() string { return filepath.Join(r.home, "index") }

func (r *replica) openIndex() {
	r.t.Helper()
	var err error
	r.cfg.Dir, r.cfg.State = r.dir(), r.state.State
	if r.index, _, err = index.Open(r.t.Context(), r.cfg); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) reopen() {
	r.t.Helper()
	r.index.Close()
	r.openIndex()
}

// settle waits until everything applied is on the disk. Close waits as well, but not for long.
func (r *replica) settle() {
	r.t.Helper()
	suite.Eventually(r.t, "all to be on the disk", func() bool {
		lag := r.index.Lag()
		must(r.t, lag.Err)
		return lag.Unsynced == 0
	})
}

// apply applies records to the state and the index, batch records at a time.
func (r *replica) apply(records []oplog.Record, batch int) {
	r.t.Helper()
	for part := range slices.Chunk(records, batch) {
		out, err := r.state.Apply(part)
		must(r.t, err)
		for _, o := range out {
			if o.Err != nil {
				r.t.Fatalf("record %d: %v", o.Index, o.Err)
			}
		}
		must(r.t, r.index.Follow(r.t.Context(), out))
	}
}

func (r *replica) ask(q index.Query) []index.Hit {
	r.t.Helper()
	if q.Now.IsZero() {
		q.Now = now
	}
	hits, _, err := r.index.Search(context.Background(), 1, q)
	must(r.t, err)
	return hits
}

func (r *replica) found(text string) (rids []string) {
	r.t.Helper()
	for _, h := range r.ask(index.Query{Text: text, K: 10}) {
		if slices.Contains(h.Why, "keyword_match") {
			rids = append(rids, h.Memory.RID)
		}
	}
	return rids
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type line struct {
	RID   string
	Score float64
	Why   []string
}

func (r *replica) answers(qs []index.Query) (all [][]line) {
	r.t.Helper()
	for _, q := range qs {
		var one []line
		for _, h := range r.ask(q) {
			one = append(one, line{h.Memory.RID, h.Score, h.Why})
		}
		all = append(all, one)
	}
	return all
}

func sameAnswers(t *testing.T, name string, qs []index.Query, got, want [][]line) {
	t.Helper()
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: question %d %+v:\n got %v\nwant %v", name, i, qs[i], got[i], want[i])
		}
	}
}
