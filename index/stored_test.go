package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// applyStateOnly applies records to the state of a replica, a batch at a time, but not to its index.
func (r *replica) applyStateOnly(records []oplog.Record, batch int) (out [][]oplog.Outcome) {
	r.t.Helper()
	for part := range slices.Chunk(records, batch) {
		o, err := r.state.Apply(part)
		must(r.t, err)
		out = append(out, o)
	}
	return out
}

// withoutStored returns outcomes without the stored memories, so that an index reads them from the state.
func withoutStored(batch []oplog.Outcome) []oplog.Outcome {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].Stored = nil
	}
	return batch
}

// TestOutcomesBringWhatTheStateHas: an index that adds memories from outcomes, one that reads them from the state,
// and one made from the state and then given old outcomes answer every question with the same bits.
func TestOutcomesBringWhatTheStateHas(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: compares answers, one question after the other")
	}
	records, qs := history(t, 500).records, questions()
	reading := openReplica(t)
	for _, batch := range reading.applyStateOnly(records, 7) {
		must(t, reading.index.Follow(t.Context(), withoutStored(batch)))
	}
	want := reading.answers(qs)
	for name, follow := range map[string]func(t *testing.T, r *replica){
		"entry by entry": func(_ *testing.T, r *replica) { r.apply(records, 1) },
		"in batches":     func(_ *testing.T, r *replica) { r.apply(records, 64) },
		"at once":        func(_ *testing.T, r *replica) { r.apply(records, len(records)) },
		"behind the state": func(t *testing.T, r *replica) {
			for _, batch := range r.applyStateOnly(records, 9) {
				must(t, r.index.Follow(t.Context(), batch))
			}
		},
		"made from a newer state": func(t *testing.T, r *replica) {
			batches := r.applyStateOnly(records, 9)
			_, err := r.index.Rebuild(t.Context())
			must(t, err)
			sameAnswers(t, "rebuilt", qs, r.answers(qs), want)
			for i, batch := range batches {
				must(t, r.index.Follow(t.Context(), batch))
				if i%20 == 0 { // what was forgotten or corrected since does not come back in between
					sameAnswers(t, "while it is given the past", qs, r.answers(qs), want)
				}
			}
		},
		"opened in the middle": func(_ *testing.T, r *replica) {
			r.apply(records[:200], 10)
			r.reopen()
			r.apply(records[200:], 10)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := openReplica(t)
			follow(t, r)
			sameAnswers(t, name, qs, r.answers(qs), want)
			_, err := r.index.Rebuild(t.Context())
			must(t, err)
			sameAnswers(t, name+", rebuilt", qs, r.answers(qs), want)
		})
	}
}

// TestNewMemoriesAreNotReadBack: the index takes a new memory from the outcome that brought it and does not read the
// state. It reads the state for a memory that the same batch touched again, and for one whose vector an earlier
// embedder made.
func TestNewMemoriesAreNotReadBack(t *testing.T) {
	r := openReplica(t)
	l := newLog(t)
	l.add(1, remember("first", "orchard"))
	r.apply(l.records, 1) // from here on the index of the database is open
	begun := len(l.records)
	l.add(1, remember("a", "violin"))
	l.add(1, remember("b", "harbor"), &oplog.Reinforce{Hits: []oplog.Hit{{RID: "b", Count: 1, At: oplog.At(now)}}})
	old := remember("c", "winter")
	old.Vector = make(oplog.Vector, 4*dim)
	l.add(1, old)
	out := r.applyStateOnly(l.records[begun:], len(l.records))[0]
	for _, o := range out {
		for i := range o.Stored {
			if s := &o.Stored[i]; s.Memory != nil {
				m := *s.Memory
				m.Text = "lantern"
				s.Memory = &m
				if m.RID == "c" {
					s.Epoch++
				}
			}
		}
	}
	must(t, r.index.Follow(t.Context(), out))
	if got := r.found("lantern"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("lantern finds %q, want a alone", got)
	}
	for rid, word := range map[string]string{"b": "harbor", "c": "winter"} {
		if got := r.found(word); !slices.Equal(got, []string{rid}) {
			t.Errorf("%s finds %q, want %s", word, got, rid)
		}
	}
}

// BenchmarkFollow times the indexing of 64 new memories, from outcomes or read from the state.
func BenchmarkFollow(b *testing.B) {
	for name, as := range map[string]func([]oplog.Outcome) []oplog.Outcome{"brought": slices.Clone[[]oplog.Outcome], "read": withoutStored} {
		b.Run(name, func(b *testing.B) {
			r, l := openReplica(b), newLog(b)
			l.add(1, remember("first", "orchard"))
			r.apply(l.records, 1)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				from := len(l.records)
				for i := range 64 {
					m := remember(fmt.Sprint(from, "-", i), strings.Join(vocabulary, " "))
					m.Vector = oplog.MakeVector([]float32{1, float32(i), 3, 4})
					l.add(1, m)
				}
				out := as(r.applyStateOnly(l.records[from:], 64)[0])
				b.StartTimer()
				must(b, r.index.Follow(b.Context(), out))
			}
		})
	}
}
