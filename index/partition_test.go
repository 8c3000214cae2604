package index_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
)

// clustered draws vectors around 400 centres.
func clustered(rng *rand.Rand, dim int) func() []float32 {
	centres := make([][]float32, 400)
	for i := range centres {
		centres[i] = make([]float32, dim)
		for d := range centres[i] {
			centres[i][d] = float32(rng.NormFloat64())
		}
	}
	return func() []float32 {
		v := slices.Clone(centres[rng.IntN(len(centres))])
		for d := range v {
			v[d] += float32(.3 * rng.NormFloat64())
		}
		return v
	}
}

// TestPartitionsAreReplicated: once a replica has learned a division of its vectors, all replicas give answers with
// the same bits, whether they follow the log, restart from an older or newer checkpoint, or are built from the state
// or a snapshot. A purge ends the division everywhere.
func TestPartitionsAreReplicated(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("-short: 53,000 vectors on four replicas")
	}
	const dim, n = 16, vector.PartitionedRows + 2000
	rng := rand.New(rand.NewPCG(1, 2))
	draw := clustered(rng, dim)
	l := newLog(t)
	some := func(from, to int) {
		for i := from; i < to; i += 1000 {
			var ops []oplog.Op
			for k := i; k < min(i+1000, to); k++ {
				m := remember(fmt.Sprintf("m%06d", k), vocabulary[k%len(vocabulary)])
				m.Namespace, m.Vector, m.Created = fmt.Sprint("ns", min(k%10, 4)), oplog.MakeVector(draw()), m.Created+oplog.Time(k)
				ops = append(ops, m)
			}
			l.add(1, ops...)
		}
	}
	some(0, vector.PartitionedRows-1000)
	few := len(l.records)
	some(vector.PartitionedRows-1000, n)
	live := openReplica(t)
	live.apply(l.records[:few], 10)
	if op, err := live.index.Learn(t.Context(), 1); op != nil || err != nil {
		t.Fatalf("below %d vectors: %v, %v", vector.PartitionedRows, op, err)
	}
	live.apply(l.records[few:], 10)
	var qs []index.Query
	for i := range 30 {
		q := index.Query{Vector: draw(), K: 10, Now: now}
		if i%3 == 1 {
			q.Namespace = fmt.Sprint("ns", 4-i/3%2) // with six tenths and one tenth of the rows
		}
		if i%3 == 2 {
			q.Text = vocabulary[i%len(vocabulary)]
		}
		qs = append(qs, q)
	}
	all := live.answers(qs)
	op, err := live.index.Learn(t.Context(), 1)
	must(t, err)
	if op == nil || op.Partitions.Count() == 0 || op.Partitions.Rows != n {
		t.Fatalf("learned %+v", op)
	}
	l.add(1, op)
	learned := len(l.records)
	live.apply(l.records[learned-1:], 1)
	if op, err := live.index.Learn(t.Context(), 1); op != nil || err != nil {
		t.Fatalf("learned again of as many: %v, %v", op, err)
	}
	same, of := 0, 0
	for i, a := range live.answers(qs) {
		of += len(all[i])
		for _, h := range a {
			if slices.ContainsFunc(all[i], func(x line) bool { return x.RID == h.RID }) {
				same++
			}
		}
	}
	if float64(same) < .99*float64(of) {
		t.Errorf("%d of %d answers are those of comparing all", same, of)
	}
	some(n, n+1500)
	for i := range 200 {
		l.add(1, &oplog.Forget{RID: fmt.Sprintf("m%06d", i*37), At: oplog.At(now)})
	}
	live.apply(l.records[learned:], 7)
	want := live.answers(qs)
	end := len(l.records)
	late := func(t *testing.T) *replica { // the state alone follows, and the index is made of it
		r := openReplica(t)
		r.index.Close()
		_, err := r.state.Apply(l.records[:end])
		must(t, err)
		r.openIndex()
		return r
	}
	for name, made := range map[string]func(*testing.T) *replica{
		"late": late,
		"restarted before and after": func(t *testing.T) *replica {
			r := openReplica(t)
			r.apply(l.records[:learned-1], len(l.records))
			r.reopen()
			r.apply(l.records[learned-1:learned+1], 1)
			r.reopen()
			r.apply(l.records[learned+1:end], len(l.records))
			return r
		},
		"of a snapshot": func(t *testing.T) *replica {
			r := openReplica(t)
			var b bytes.Buffer
			must(t, live.state.Read(func(v *state.View) error { return v.WriteSnapshot(&b) }))
			must(t, r.state.Restore(&b, nil))
			_, err := r.index.Rebuild(t.Context())
			must(t, err)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			sameAnswers(t, name, qs, made(t).answers(qs), want)
		})
	}
	l.add(1, &oplog.Purge{Before: oplog.At(now) + 1, At: oplog.At(now)})
	live.apply(l.records[end:], 1)
	must(t, live.state.Read(func(v *state.View) error {
		if p := v.Partitions(1); p.Centroids != nil || p.Groups != nil {
			t.Error("means of what was purged are still there")
		}
		return nil
	}))
	if next, err := live.index.Learn(t.Context(), 1); err != nil || next == nil || next.At != oplog.Index(len(l.records)) {
		t.Errorf("after a purge nothing is learned: %v, %v", next, err)
	}
}

// TestADivisionIsInTheNextCheckpoint: a new division of vectors is on the disk as soon as it is learned, however few
// rows changed since the last checkpoint.
func TestADivisionIsInTheNextCheckpoint(t *testing.T) {
	t.Parallel()
	const dim, n = 16, 2000
	draw := clustered(rand.New(rand.NewPCG(1, 2)), dim)
	r, l := openReplica(t), newLog(t)
	for i := 0; i < n; i += 500 {
		var ops []oplog.Op
		for k := i; k < i+500; k++ {
			m := remember(fmt.Sprintf("m%04d", k), vocabulary[k%len(vocabulary)])
			m.Vector = oplog.MakeVector(draw())
			ops = append(ops, m)
		}
		l.add(1, ops...)
	}
	r.apply(l.records, 1)
	if files, _ := index.PiecesOf(r.index, 1); len(files) > 0 {
		t.Fatalf("%d rows were enough for a checkpoint: %v", n, files)
	}
	some := func(count int) (b []byte) {
		for range count {
			for _, x := range draw() {
				b = append(b, byte(int8(20*x)))
			}
		}
		return b
	}
	l.add(1, &oplog.Partition{At: oplog.Index(len(l.records)),
		Partitions: oplog.Partitions{Dim: dim, Rows: n, Groups: some(2), Centroids: some(8), Slack: 100}})
	r.apply(l.records[len(l.records)-1:], 1)
	files, rows := index.PiecesOf(r.index, 1)
	if len(files) != 1 || rows[files[0]] != n {
		t.Errorf("the checkpoint has %v of %v rows", files, rows)
	}
}
