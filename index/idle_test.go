package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// closeAll closes all indexes. One with files is closed once the files are complete.
func (r *replica) closeAll() {
	r.t.Helper()
	r.settle()
	suite.Eventually(r.t, "all indexes to be closed", func() bool {
		if index.OpenNow(r.index) == 0 {
			return true
		}
		index.CloseUnused(r.index)
		index.Checkpointed(r.index)
		return false
	})
}

// TestClosedIndexesAnswerTheSame: an index made from the state, one that outgrows that, and those that are closed
// between entries answer like one that is always open.
func TestClosedIndexesAnswerTheSame(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	l, qs := history(t, 900), questions()[:40]
	if testing.Short() {
		qs = qs[:8]
	}
	first := openReplica(t)
	first.apply(l.records, 100)
	want := first.answers(qs)
	for _, c := range []struct {
		name  string
		small int
		build func(r *replica)
	}{
		{"made from the state", 10_000, func(r *replica) { r.apply(l.records, 50) }},
		{"open and fed", 10_000, func(r *replica) {
			for part := range slices.Chunk(l.records, 100) {
				r.apply(part, 13)
				r.answers(qs[:1])
			}
		}},
		{"outgrown", 300, func(r *replica) { r.apply(l.records, 50) }},
		{"outgrown in use, then closed and opened", 300, func(r *replica) {
			for part := range slices.Chunk(l.records, 90) {
				r.apply(part, 13)
				r.answers(qs[:1])
				r.closeAll()
			}
		}},
		{"closed, opened by entries", 0, func(r *replica) {
			for part := range slices.Chunk(l.records, 180) {
				r.apply(part, 13)
				r.closeAll()
			}
		}},
		{"closed over a restart", 300, func(r *replica) {
			for part := range slices.Chunk(l.records, 300) {
				r.apply(part, 13)
				r.closeAll()
				r.reopen()
			}
		}},
		{"closed, and its files lost", 0, func(r *replica) {
			r.apply(l.records, 50)
			r.closeAll()
			must(t, os.RemoveAll(r.dir()))
			must(t, os.MkdirAll(r.dir(), 0o700))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := openReplicaWith(t, index.Config{Small: c.small})
			c.build(r)
			sameAnswers(t, c.name, qs, r.answers(qs), want)
			have, of := r.index.WithVectors(1)
			if h, o := first.index.WithVectors(1); h != have || o != of {
				t.Errorf("%d of %d have a vector, want %d of %d", have, of, h, o)
			}
		})
	}
}

// TestOpenAndCloseUnderLoad: while indexes are closed again and again, followed memories are found at once and
// forgotten ones are not, and the final answers equal those of an index that is never closed.
func TestOpenAndCloseUnderLoad(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const dbs, small = 5, 60
	r := openReplicaWith(t, index.Config{Small: small, Idle: 40 * time.Millisecond, MaxOpen: 2})
	l := newLog(t)
	for i := 2; i <= dbs; i++ {
		l.add(0, &oplog.CreateDB{Name: fmt.Sprint("db", i), At: oplog.At(now)})
	}
	r.apply(l.records, 100)
	var stories []func()
	for db := range oplog.DB(dbs) {
		stories = append(stories, story(l, db+1, 600))
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for n := range 3 {
		others.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for ctx.Err() == nil {
				if _, _, err := r.index.Search(ctx, oplog.DB(1+rng.IntN(dbs)),
					index.Query{Text: "garden river", K: 20, Now: now}); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer others.Wait()
	defer stop()
	rng := rand.New(rand.NewPCG(3, 4))
	steps := 600
	if testing.Short() {
		steps = 200
	}
	for i := range steps {
		from, db := len(l.records), oplog.DB(1+rng.IntN(1+rng.IntN(dbs))) // the first ones outgrow a build from the state
		stories[db-1]()
		rid := fmt.Sprint("sure", i)
		l.add(db, remember(rid, fmt.Sprintf("words and token%dq", i)))
		if i%5 == 0 {
			l.add(db, &oplog.Forget{RID: rid, At: oplog.At(now)})
		}
		r.apply(l.records[from:], 8)
		hits, _, err := r.index.Search(t.Context(), db, index.Query{Text: fmt.Sprintf("token%dq", i), K: 10, Now: now})
		must(t, err)
		found := slices.ContainsFunc(hits, func(h index.Hit) bool { return h.Memory.RID == rid })
		if found != (i%5 != 0) {
			t.Fatalf("step %d, database %d: found is %v", i, db, found)
		}
	}
	stop()
	others.Wait()
	whole := openReplica(t)
	whole.apply(l.records, 500)
	for db := range oplog.DB(dbs) {
		for _, q := range questions()[:30] {
			var got [2][]line
			for i, x := range []*index.Index{r.index, whole.index} {
				hits, _, err := x.Search(t.Context(), db+1, q)
				must(t, err)
				for _, h := range hits {
					got[i] = append(got[i], line{h.Memory.RID, h.Score, h.Why})
				}
			}
			sameAnswers(t, fmt.Sprint("database ", db+1), []index.Query{q}, got[:1], got[1:])
		}
	}
}
