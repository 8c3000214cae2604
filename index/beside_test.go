package index_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestBesideAnswersAlike: an answer has the same bits whether words and vectors are searched in parallel or in
// sequence, and while other questions run.
func TestBesideAnswersAlike(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 22))
	vec := func() []float32 {
		v := make([]float32, 16)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	r, l := openReplica(t), newLog(t)
	for i := 0; i < 5000; i += 1000 {
		var ops []oplog.Op
		for k := i; k < i+1000; k++ {
			m := remember(fmt.Sprintf("m%05d", k), fmt.Sprintf("w%dx w%dx w%dx", rng.IntN(300), rng.IntN(300), rng.IntN(300)))
			m.Namespace, m.Vector = fmt.Sprint("ns", k%3), oplog.MakeVector(vec())
			ops = append(ops, m)
		}
		l.add(1, ops...)
	}
	r.apply(l.records, len(l.records))
	questions := make([]index.Query, 40)
	alone := make([][]index.Hit, len(questions))
	for i := range questions {
		questions[i] = index.Query{Text: fmt.Sprintf("w%dx w%dx", rng.IntN(300), rng.IntN(300)), Vector: vec(), K: 10}
		if i%2 == 0 {
			questions[i].Namespace = "ns1"
		}
	}
	index.Busy(r.index, 1000)
	for i, q := range questions {
		if alone[i] = r.ask(q); len(alone[i]) != 10 {
			t.Fatalf("question %d has %d answers", i, len(alone[i]))
		}
	}
	index.Busy(r.index, -1000)
	alike := func(i int) {
		if got := r.ask(questions[i]); !reflect.DeepEqual(got, alone[i]) {
			t.Errorf("question %d:\n got %+v\nwant %+v", i, got, alone[i])
		}
	}
	if runtime.GOMAXPROCS(0) < 2 {
		t.Log("one processor: no question looks for both at the same time")
	}
	for i := range questions {
		alike(i)
	}
	var askers sync.WaitGroup
	for w := range 4 {
		askers.Go(func() {
			for i := w; i < len(questions); i++ {
				alike(i)
			}
		})
	}
	askers.Wait()
}
