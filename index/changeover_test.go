package index_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// turned returns a vector that is close to those of neighbouring numbers.
func turned(i int) []float32 {
	v := make([]float32, 8)
	v[i%8], v[(i+1)%8] = 1, float32(i)/100
	return v
}

const boxes = 60 // memories of a changing history

var former, latter = oplog.Embedder{Name: "old", Version: "1", Dim: 8}, oplog.Embedder{Name: "new", Version: "1", Dim: 8}

// A changing holds the history of a database that changes to another embedder. Memory i has turned(i) by the old
// embedder, and turned(7i+7) by the new one.
type changing struct {
	*log
	text string
}

func newChanging(t *testing.T) *changing {
	l := &changing{newLog(t), "another text"}
	l.add(1, &oplog.SetEmbedder{Embedder: former})
	for i := range boxes {
		m := remember(fmt.Sprintf("m%02d", i), fmt.Sprintf("%s number %d", vocabulary[i%len(vocabulary)], i))
		if i%10 != 3 { // the embedder failed
			m.Vector = oplog.MakeVector(turned(i))
		}
		l.add(1, m)
	}
	return l
}

func (l *changing) rebind(e oplog.Embedder) { l.add(1, &oplog.Rebind{Embedder: e}) }

func (l *changing) correct(rid string) {
	l.add(1, &oplog.Correct{RID: rid, Text: &l.text, Reason: "wrong", Vector: oplog.MakeVector(turned(1)), At: oplog.At(now)})
}

// embed records the vectors of the new embedder for some memories.
func (l *changing) embed(from, to oplog.Seq) {
	op := &oplog.Embed{Embedder: latter, From: from, Next: to}
	for seq := from; seq < to; seq++ {
		op.Vectors = append(op.Vectors, oplog.Embedded{Seq: seq, Vector: oplog.MakeVector(turned(int(seq) * 7))})
	}
	l.add(1, op)
}

// TestChangeOfEmbedder: the old vectors answer until the new embedder's are complete, whatever part of the change an
// index has followed.
func TestChangeOfEmbedder(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: compares answers, one question after the other")
	}
	for name, more := range map[string]func(*changing) []int{
		"whole": func(l *changing) (at []int) {
			for from := oplog.Seq(1); from <= boxes; from += 15 {
				l.embed(from, from+15)
				at = append(at, len(l.records))
			}
			l.add(1, &oplog.Embed{Embedder: latter, From: 1, Next: 40}, &oplog.Embed{Embedder: latter, From: 40, Next: boxes + 1,
				Vectors: []oplog.Embedded{{Seq: 21, Revision: 1, Vector: oplog.MakeVector(turned(3))}}})
			return at
		},
		"ended and begun again": func(l *changing) []int {
			l.embed(1, 31)
			at := []int{len(l.records)}
			l.rebind(former)
			l.add(1, &oplog.Embed{Embedder: former, From: 1, Next: 31})
			l.correct("m05")
			l.rebind(latter)
			at = append(at, len(l.records))
			l.embed(1, 11)
			l.add(1, &oplog.Forget{RID: "m07", At: oplog.At(now)})
			at = append(at, len(l.records))
			l.embed(11, boxes+1)
			return append(at, len(l.records))
		},
	} {
		l := newChanging(t)
		bound := len(l.records)
		l.rebind(latter)
		l.correct("m20")
		half := len(l.records)
		at := more(l)
		whole := at[len(at)-1]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := openReplica(t)
			finds := func(what string, q int, rid string) {
				t.Helper()
				if got := live.ask(index.Query{Vector: turned(q), K: 1}); got[0].Memory.RID != rid || got[0].Parts.Vector < .999 {
					t.Fatalf("%s: %+v", what, got[0])
				}
			}
			live.apply(l.records[:bound], 10)
			finds("before", 12, "m12")
			live.apply(l.records[bound:half], 10)
			finds("begun", 12, "m12")
			live.apply(l.records[half:whole-1], 10)
			finds("nearly whole", 12, "m12")
			live.apply(l.records[whole-1:], 1)
			finds("whole", 13*7, "m12")
			var qs []index.Query
			for i := range 20 {
				qs = append(qs, index.Query{Vector: turned(i * 3), K: 8, Now: now},
					index.Query{Text: vocabulary[i], Vector: turned(i), K: 8, Now: now})
			}
			want := live.answers(qs)
			for name, stops := range map[string][]int{"one batch": {}, "restarted before": {bound},
				"restarted within": {half, at[0], at[1]}, "restarted at the end": {whole - 1, whole},
				"caught up": {-bound}, "caught up within": {-half}, "caught up later": {-at[1]}} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					same(t, name, l, stops, qs, want)
				})
			}
		})
	}
}

// same compares an index with what it should answer that stops at some records, and reads those behind a negative one
// from the state alone.
func same(t *testing.T, name string, l *changing, stops []int, qs []index.Query, want [][]line) {
	r, at := openReplica(t), 0
	for _, stop := range stops {
		if stop < 0 {
			r.apply(l.records[:-stop], 7)
			r.index.Close()
			if _, err := r.state.Apply(l.records[-stop:]); err != nil {
				t.Fatal(err)
			}
			r.openIndex()
			at = len(l.records)
			continue
		}
		r.apply(l.records[at:stop], 7)
		at = stop
		r.reopen()
	}
	if at < len(l.records) {
		r.apply(l.records[at:], len(l.records))
	}
	sameAnswers(t, name, qs, r.answers(qs), want)
	r.reopen()
	sameAnswers(t, name+", opened again", qs, r.answers(qs), want)
	r.index.Close()
	must(t, os.RemoveAll(r.dir()))
	r.openIndex()
	sameAnswers(t, name+", from the state", qs, r.answers(qs), want)
}

// TestNoEmbedder: after a database is set to have no embedder, its vectors answer nothing.
func TestNoEmbedder(t *testing.T) {
	t.Parallel()
	l := newChanging(t)
	l.rebind(oplog.NoEmbedder)
	r := openReplica(t)
	r.apply(l.records, 10)
	for range 2 {
		for _, h := range r.ask(index.Query{Vector: turned(12), Text: vocabulary[12], K: boxes}) {
			if h.Parts.Vector != 0 {
				t.Fatalf("%s is found by a vector", h.Memory.RID)
			}
		}
		r.reopen()
	}
}
