package index_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestSameAnswers: batch sizes, a restart in the middle, a rebuild and a lost directory never change an answer.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	size := 1500
	if testing.Short() {
		size = 500
	}
	l, qs := history(t, size), questions()
	first := openReplica(t)
	first.apply(l.records, 1)
	want := first.answers(qs)
	if n := slices.IndexFunc(want, func(a []line) bool { return len(a) > 0 }); n < 0 {
		t.Fatal("nothing is found")
	}
	for _, c := range []struct {
		name  string
		build func(r *replica)
	}{
		{"batches of 7", func(r *replica) { r.apply(l.records, 7) }},
		{"one batch", func(r *replica) { r.apply(l.records, len(l.records)) }},
		{"restarts", func(r *replica) {
			for part := range slices.Chunk(l.records, 250) {
				r.apply(part, 13)
				r.reopen()
			}
		}},
		{"rebuild", func(r *replica) {
			r.apply(l.records, 50)
			if _, err := r.index.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"lost directory", func(r *replica) {
			r.apply(l.records, 50)
			r.index.Close()
			must(t, os.RemoveAll(r.dir()))
			r.openIndex()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := openReplica(t)
			c.build(r)
			sameAnswers(t, c.name, qs, r.answers(qs), want)
		})
	}
}

// TestFilters: every hit passes the filter, whichever search found it.
func TestFilters(t *testing.T) {
	t.Parallel()
	r := openReplica(t)
	r.apply(history(t, 800).records, 100)
	for _, q := range questions() {
		q.K = 200
		for _, h := range r.ask(q) {
			m := h.Memory
			if q.Namespace != "" && m.Namespace != q.Namespace || q.Domain != "" && m.Domain != q.Domain ||
				q.Source != "" && m.Source != q.Source ||
				q.Session != "" && m.Session != q.Session || q.Since != 0 && m.Created < q.Since || q.Until != 0 && m.Created > q.Until {
				t.Fatalf("%+v\nfound %+v", q, m)
			}
		}
	}
}

func TestVectorsAreExact(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	rng := rand.New(rand.NewPCG(1, 1))
	vecs := map[string][]float32{}
	for i := range 300 {
		v := make([]float32, dim)
		for k := range v {
			v[k] = float32(rng.NormFloat64())
		}
		m := remember(fmt.Sprint("m", i), "x"+fmt.Sprint(i))
		m.Vector = oplog.MakeVector(v)
		vecs[m.RID] = v
		l.add(1, m)
	}
	r.apply(l.records, 40)
	for rid, v := range vecs {
		hits := r.ask(index.Query{Vector: v, K: 1})
		if len(hits) != 1 || hits[0].Memory.RID != rid || !slices.Contains(hits[0].Why, "semantically similar (1.00)") {
			t.Fatalf("%s: %+v", rid, hits)
		}
		if p := hits[0].Parts; p.Vector < .999999 {
			t.Fatalf("%s: parts %+v", rid, p)
		}
	}
}

func TestForgetAndCorrectTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("a", "the violin is in the attic"))
	l.add(1, remember("b", "the violin is sold"))
	text := "the cello is in the attic"
	l.add(1, &oplog.Correct{RID: "a", Text: &text, Reason: "wrong", At: oplog.At(now)})
	l.add(1, &oplog.Forget{RID: "b", At: oplog.At(now)})
	r.apply(l.records[:3], 1)
	if got := r.found("violin"); !slices.Equal(got, []string{"b", "a"}) && !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("violin: %v", got)
	}
	r.apply(l.records[3:], 1)
	for _, when := range []string{"at once", "after a restart"} {
		if got := r.found("violin"); len(got) != 0 {
			t.Errorf("%s, violin: %v", when, got)
		}
		if got := r.found("cello"); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s, cello: %v", when, got)
		}
		r.reopen()
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("boss", "Maria Lopez prefers tea"))
	l.add(1, remember("far", "Quito is high in the mountains"))
	l.add(1, remember("self", "Dan moved last year"))
	for i := range 30 {
		l.add(1, remember(fmt.Sprint("noise", i), "nothing of interest, number "+fmt.Sprint(i)))
	}
	l.add(1, &oplog.Relate{ID: "e1", Src: "Dan", Dst: "Maria Lopez", Type: "reports_to", Weight: 1, At: oplog.At(now)})
	l.add(1, &oplog.Relate{ID: "e2", Src: "Maria Lopez", Dst: "Quito", Type: "lives_in", Weight: 1, At: oplog.At(now)})
	l.add(1, &oplog.Alias{Namespace: "default", Alias: "danny boy", Canonical: "Dan", At: oplog.At(now)})
	r.apply(l.records, 5)
	near := []string{"boss graph-connected via Maria Lopez", "far graph-connected via Quito"}
	for q, want := range map[string][]string{
		"what about dan?":  near, // what says Dan is found by the word
		"who is danny boy": append([]string{"self graph-connected via Dan"}, near...),
	} {
		var got []string
		for _, h := range r.ask(index.Query{Text: q, K: 5, Expand: true}) {
			if i := slices.IndexFunc(h.Why, func(w string) bool { return strings.HasPrefix(w, "graph-connected via ") }); i >= 0 {
				got = append(got, h.Memory.RID+" "+h.Why[i])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", q, got, want)
		}
	}
	for _, h := range r.ask(index.Query{Text: "what about dan?", K: 5}) {
		if h.Parts.Graph != 0 {
			t.Errorf("not asked for, and followed: %+v", h)
		}
	}
	at, salt := len(l.records), []byte("a salt of random bytes")
	l.add(1, &oplog.Purge{Name: oplog.NameHash(salt, "danny boy"), Salt: salt, At: oplog.At(now)})
	r.apply(l.records[at:], 5)
	for _, h := range r.ask(index.Query{Text: "who is danny boy", K: 5, Expand: true}) {
		if h.Parts.Graph != 0 {
			t.Errorf("an alias that was erased for good leads on: %s %v", h.Memory.RID, h.Why)
		}
	}
}

// TestFoundAtOnce: after Follow the next search finds added memories and no removed ones, while other searches run
// and words move from the tail to the disk.
func TestFoundAtOnce(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	r.apply(l.records, 1)
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				if _, _, err := r.index.Search(ctx, 1, index.Query{Text: "shared words", K: 20, Now: now}); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer others.Wait()
	defer stop()
	n := 1500
	if testing.Short() { // enough for the race detector
		n = 300
	}
	for i := range n {
		rid := fmt.Sprint("m", i)
		l.add(1, remember(rid, fmt.Sprintf("shared words and token%dq", i)))
		if i%5 == 4 {
			l.add(1, &oplog.Forget{RID: fmt.Sprint("m", i-1), At: oplog.At(now)})
		}
		r.apply(l.records[len(l.records)-1-min(1, i%5/4):], 8)
		if got := r.found(fmt.Sprintf("token%dq", i)); !slices.Equal(got, []string{rid}) {
			t.Fatalf("memory %d: found %v", i, got)
		}
		if i%5 == 4 {
			if got := r.found(fmt.Sprintf("token%dq", i-1)); len(got) != 0 {
				t.Fatalf("memory %d was forgotten and is found", i-1)
			}
		}
	}
}
