package index_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// replica is a state and the index that follows it, as a node holds them.
type replica struct {
	t     testing.TB
	home  string
	state *state.State
	index *index.Index
	cfg   index.Config // but for Dir and State
}

func openReplica(t testing.TB) *replica { return openReplicaWith(t, index.Config{}) }

func openReplicaWith(t testing.TB, cfg index.Config) *replica {
	t.Helper()
	r := &replica{t: t, home: t.TempDir(), cfg: cfg}
	var err error
	if r.state, err = state.Open(filepath.Join(r.home, "state"), state.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	r.openIndex()
	t.Cleanup(func() {
		r.index.Close()
		r.state.Close()
	})
	return r
}

func (r *replica) dir() string { return filepath.Join(r.home, "index") }

func (r *replica) openIndex() {
	r.t.Helper()
	var err error
	r.cfg.Dir, r.cfg.State = r.dir(), r.state
	if r.index, _, err = index.Open(r.t.Context(), r.cfg); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) reopen() {
	r.t.Helper()
	r.index.Close()
	r.openIndex()
}

// settle waits until all that was applied is on the disk. Close does so too, but not for long.
func (r *replica) settle() {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		lag := r.index.Lag()
		if lag.Err != nil || time.Now().After(end) {
			r.t.Fatalf("not on the disk within a minute: %+v", lag)
		}
		if lag.Unsynced == 0 {
			return
		}
	}
}

// apply takes records into the state and lets the index follow, batch records at a time.
func (r *replica) apply(records []oplog.Record, batch int) {
	r.t.Helper()
	for part := range slices.Chunk(records, batch) {
		out, err := r.state.Apply(part)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range out {
			if o.Err != nil {
				r.t.Fatalf("record %d: %v", o.Index, o.Err)
			}
		}
		if err := r.index.Follow(r.t.Context(), out); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *replica) ask(q index.Query) []index.Hit {
	r.t.Helper()
	if q.Now.IsZero() {
		q.Now = now
	}
	hits, _, err := r.index.Search(context.Background(), 1, q)
	if err != nil {
		r.t.Fatal(err)
	}
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

// log makes records of operations, an entry each.
type log struct {
	t       testing.TB
	records []oplog.Record
}

func newLog(t testing.TB) *log {
	l := &log{t: t}
	l.add(0, &oplog.Init{Cluster: "c", At: oplog.At(now)})
	return l
}

func (l *log) add(db oplog.DB, ops ...oplog.Op) {
	l.t.Helper()
	body, err := oplog.Entry{Node: 1, DB: db, Ops: ops}.Encode()
	if err != nil {
		l.t.Fatal(err)
	}
	n := uint64(len(l.records) + 1)
	l.records = append(l.records, oplog.Record{Index: oplog.Index(n), Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+n, 0, 1), body)})
}

func remember(rid, text string) *oplog.Remember {
	return &oplog.Remember{RID: rid, Text: text, Namespace: "default", Importance: .5, HalfLife: 604800, Type: "semantic", Created: oplog.At(now)}
}

var vocabulary = strings.Fields(`garden river violin harbor winter letter bridge candle market engine painter doctor island
	forest window recipe journey teacher library orchard glacier lantern village thunder silver copper meadow castle`)

const dim = 24

// history is a log of everything that moves rows: sessions, vectors, corrections, forgetting, reinforcement, relations.
func history(t testing.TB, n int) *log {
	l := newLog(t)
	next := story(l, 1, n)
	for range n {
		next()
	}
	return l
}

// story returns what adds the next of n entries to the history of a database.
func story(l *log, db oplog.DB, n int) (next func()) {
	rng := rand.New(rand.NewPCG(6+uint64(db), 8))
	words := func(k int) string {
		var w []string
		for range k {
			w = append(w, vocabulary[rng.IntN(len(vocabulary))])
		}
		return strings.Join(w, " ")
	}
	vec := func() oplog.Vector {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return oplog.MakeVector(v)
	}
	var rids []string
	i := -1
	return func() {
		i++
		at := oplog.At(now.Add(time.Duration(i-n) * time.Hour))
		switch rng.IntN(12) {
		case 0:
			if len(rids) > 3 {
				text := words(6)
				op := &oplog.Correct{RID: rids[rng.IntN(len(rids))], Text: &text, Reason: "better", At: at}
				if rng.IntN(2) == 0 {
					op.Vector = vec()
				}
				l.add(db, op)
				return
			}
		case 1:
			if len(rids) > 3 {
				k := rng.IntN(len(rids))
				l.add(db, &oplog.Forget{RID: rids[k], At: at})
				rids = slices.Delete(rids, k, k+1)
				return
			}
		case 2:
			if len(rids) > 3 {
				l.add(db, &oplog.Reinforce{Hits: []oplog.Hit{{RID: rids[rng.IntN(len(rids))], Count: 2, At: at}}})
				return
			}
		case 3:
			a, b := vocabulary[rng.IntN(len(vocabulary))], vocabulary[rng.IntN(len(vocabulary))]
			l.add(db, &oplog.Relate{ID: fmt.Sprint("e", i), Src: a, Dst: b, Type: "near", Weight: .5, At: at})
			return
		}
		m := remember(fmt.Sprintf("m%05d", i), words(4+rng.IntN(12)))
		m.Created, m.Importance = at, rng.Float64()
		m.Namespace = []string{"default", "alpha", "beta"}[rng.IntN(3)]
		m.Domain = []string{"", "work", "home"}[rng.IntN(3)]
		m.Source = []string{"user", "document"}[rng.IntN(2)]
		if rng.IntN(3) > 0 {
			m.Session = fmt.Sprint(m.Namespace, "/", rng.IntN(12))
			m.Speaker = []string{"Ada", "Bob"}[rng.IntN(2)]
		}
		if rng.IntN(4) > 0 {
			m.Vector = vec()
		}
		l.add(db, m)
		rids = append(rids, m.RID)
	}
}

// questions cover words, vectors, the graph and every filter.
func questions() (qs []index.Query) {
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range 120 {
		q := index.Query{K: 1 + rng.IntN(30), Now: now, Text: vocabulary[rng.IntN(len(vocabulary))] + " " + vocabulary[rng.IntN(len(vocabulary))]}
		if i%3 == 0 {
			q.Vector = make([]float32, dim)
			for k := range q.Vector {
				q.Vector[k] = float32(rng.NormFloat64())
			}
		}
		if i%9 == 0 {
			q.Text = ""
		}
		q.Expand = i%4 == 0
		switch i % 8 {
		case 1:
			q.Namespace = "alpha"
		case 2:
			q.Domain = "work"
		case 3:
			q.Source = "document"
		case 4:
			q.Since, q.Until = oplog.At(now.Add(-300*time.Hour)), oplog.At(now.Add(-50*time.Hour))
		case 5:
			q.Namespace, q.Session = "beta", "beta/3"
		case 6:
			q.Namespace = "nobody's"
		}
		qs = append(qs, q)
	}
	return qs
}

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

// TestSameAnswers: batch sizes, a restart in the middle, a rebuild and a lost directory never change an answer.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	l, qs := history(t, 1500), questions()
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
			if err := os.RemoveAll(r.dir()); err != nil {
				t.Fatal(err)
			}
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

// TestFilters: no hit is outside what was asked for, whichever search found it.
func TestFilters(t *testing.T) {
	t.Parallel()
	r := openReplica(t)
	r.apply(history(t, 800).records, 100)
	for _, q := range questions() {
		q.K = 200
		for _, h := range r.ask(q) {
			m := h.Memory
			if q.Namespace != "" && m.Namespace != q.Namespace || q.Domain != "" && m.Domain != q.Domain || q.Source != "" && m.Source != q.Source ||
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
}

// TestDamage: whatever happens to the files, a restart answers as before.
func TestDamage(t *testing.T) {
	t.Parallel()
	l, qs := history(t, 400), questions()[:30]
	r := openReplica(t)
	r.apply(l.records, 100)
	want := r.answers(qs)
	rng := rand.New(rand.NewPCG(3, 5))
	for range 12 {
		r.index.Close()
		var files []string
		if err := filepath.WalkDir(r.dir(), func(p string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files = append(files, p)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		path := files[rng.IntN(len(files))]
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch rng.IntN(3) {
		case 0:
			err = os.Remove(path)
		case 1:
			err = os.Truncate(path, int64(len(raw)/2))
		case 2:
			if len(raw) > 0 {
				raw[rng.IntN(len(raw))] ^= 0x41
			}
			err = os.WriteFile(path, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.openIndex()
		sameAnswers(t, "damaged "+filepath.Base(path), qs, r.answers(qs), want)
	}
}

// openings remembers what was logged of the last opening: rows kept from the disk, or memories read from the state besides them.
type openings struct {
	slog.Handler
	attrs map[string]int64
}

func (h openings) Enabled(context.Context, slog.Level) bool { return true }

func (h openings) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindInt64 {
			h.attrs[a.Key] = a.Value.Int64()
		}
		return true
	})
	return nil
}

// TestRestartKeepsRows: what is on disk and still true is not analysed again, and what became false meanwhile is gone.
func TestRestartKeepsRows(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	for i := range 500 {
		l.add(1, remember(fmt.Sprint("m", i), fmt.Sprint("shelf number ", i)))
	}
	text := "a drawer"
	l.add(1, &oplog.Correct{RID: "m7", Text: &text, Reason: "moved", At: oplog.At(now)})
	l.add(1, &oplog.Forget{RID: "m8", At: oplog.At(now)})
	r.apply(l.records[:501], 100)
	r.settle()
	r.index.Close()
	if _, err := r.state.Apply(l.records[501:]); err != nil { // the index did not see these
		t.Fatal(err)
	}
	var err error
	said := openings{attrs: map[string]int64{}}
	open := func() {
		t.Helper()
		clear(said.attrs)
		if r.index, _, err = index.Open(t.Context(), index.Config{Dir: r.dir(), State: r.state, Logger: slog.New(said)}); err != nil {
			t.Fatal(err)
		}
	}
	open()
	if n, ok := said.attrs["read"]; !ok || n != 2 {
		t.Errorf("from a checkpoint: %v, want 2 read", said.attrs)
	}
	r.settle()
	r.index.Close()
	if err := os.Remove(filepath.Join(r.dir(), "checkpoint")); err != nil {
		t.Fatal(err)
	}
	open()
	if n := said.attrs["kept"]; n != 499 {
		t.Errorf("without a checkpoint: %v, want 499 kept", said.attrs)
	}
	if got := r.found("drawer"); !slices.Equal(got, []string{"m7"}) {
		t.Errorf("drawer: %v", got)
	}
	for _, gone := range []string{"m7", "m8"} {
		if got := r.found("number " + gone[1:]); slices.Contains(got, gone) && gone == "m8" {
			t.Errorf("%s is found by what it said", gone)
		}
	}
	if lag := r.index.Lag(); lag.Err != nil {
		t.Errorf("lag: %+v", lag)
	}
}

// TestFoundAtOnce: what Follow has taken is found by the next search, and what it forgot is not, while others search and the
// words move from the tail to the disk.
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
	for i := range 1500 {
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
