package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAFollowedIndexIsARebuiltOne: random operations of a small world, many of which are rejected, are followed in
// batches. After each restart and rebuild the index gives the same answers as before, and counts the same.
func TestAFollowedIndexIsARebuiltOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(suite.Count(3, 25, 400)) {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { newSmallWorld(t, seed).run(120) }) {
			return
		}
	}
}

// A smallWorld draws operations on a few memories, keys and names.
type smallWorld struct {
	*rand.Rand
	*replica
	t    *testing.T
	log  *log
	made int
	at   oplog.Time
}

func newSmallWorld(t *testing.T, seed uint64) *smallWorld {
	w := &smallWorld{Rand: rand.New(rand.NewPCG(seed, 9)), replica: openReplica(t), t: t, log: newLog(t), at: oplog.At(now)}
	w.apply(w.log.records, 1)
	return w
}

func (w *smallWorld) run(entries int) {
	var unread []oplog.Outcome
	var recent []string
	for range entries {
		before := len(w.log.records)
		ops := []oplog.Op{w.op()}
		if back, ok := ops[0].(*oplog.TakeBack); ok && len(back.Sources) > 0 {
			ops = append(ops, w.correction(back.Sources[0].RID))
		} else if w.IntN(2) == 0 {
			ops = append(ops, w.op())
		}
		w.log.add(1, ops...)
		out, err := w.state.Apply(w.log.records[before:])
		must(w.t, err)
		unread, recent = append(unread, out...), append(recent, fmt.Sprintf("%T %+v: %v", ops[0], ops[0], out[0].Err))
		if w.IntN(3) > 0 {
			continue
		}
		must(w.t, w.index.Follow(w.t.Context(), unread))
		if unread = nil; w.IntN(6) > 0 {
			continue
		}
		had := w.say()
		if w.IntN(3) == 0 {
			w.reopen()
		} else {
			_, err = w.index.Rebuild(w.t.Context())
			must(w.t, err)
		}
		for i, now := range w.say() {
			if now != had[i] {
				w.t.Fatalf("it said\n%s\nand then\n%s\nafter %q", had[i], now, recent[max(0, len(recent)-12):])
			}
		}
	}
}

// say returns the answers to questions by word, vector, session and list, with what each filter leaves.
func (w *smallWorld) say() (all []string) {
	questions := []index.Query{{}, {Bare: true}, {Text: "Ada"}, {Filter: index.Filter{Consolidated: true}}, {Vector: []float32{1, 0, 0, 0}}}
	for _, word := range vocabulary[:6] {
		questions = append(questions, index.Query{Text: word, Filter: index.Filter{Consolidated: true}},
			index.Query{Text: word, Explain: true, Filter: index.Filter{Namespace: "alpha"}},
			index.Query{Text: word, Explain: true, Filter: index.Filter{Session: "s1"}})
	}
	for _, q := range questions {
		q.K, q.Now = 50, now
		hits, info, err := w.index.Search(w.t.Context(), 1, q)
		must(w.t, err)
		said := fmt.Sprintf("%q %v leaves %v:", q.Text, q.Filter, info.Left)
		for _, h := range hits {
			said += fmt.Sprintf(" %s %q %.9f %v", h.Memory.RID, h.Memory.Text, h.Score, h.Why)
		}
		all = append(all, said)
	}
	return all
}

func (w *smallWorld) text() string {
	return fmt.Sprint(vocabulary[w.IntN(6)], " ", vocabulary[w.IntN(6)], " ", vocabulary[w.IntN(6)])
}

func (w *smallWorld) vector() oplog.Vector {
	if w.IntN(3) == 0 {
		return nil
	}
	return oplog.MakeVector([]float32{float32(w.NormFloat64()), float32(w.NormFloat64()), 1, 0})
}

// some returns the id of a memory, which may be gone.
func (w *smallWorld) some() string { return fmt.Sprint("m", 1+w.IntN(max(w.made, 1))) }

func (w *smallWorld) read(rid string) (m oplog.Memory) {
	must(w.t, w.state.Inspect(func(v *state.View) {
		if x, ok := v.Memory(1, rid); ok {
			m = *x
		}
	}))
	return m
}

func (w *smallWorld) grounds(rid string) oplog.Grounds {
	return oplog.Grounds{RID: rid, Revision: w.read(rid).Revision}
}

// product returns a new memory whose metadata may name those that it is made of.
func (w *smallWorld) product(namespace, metadata string) oplog.Remember {
	w.made++
	m := remember(fmt.Sprint("m", w.made), w.text())
	m.Namespace, m.Metadata = namespace, []byte(metadata)
	return *m
}

func (w *smallWorld) memory() *oplog.Remember {
	m := w.product([]string{"default", "alpha"}[w.IntN(2)], "{}")
	m.Vector, m.Unsearchable = w.vector(), w.IntN(8) == 0
	m.Entities = []oplog.Mention{{Name: []string{"Ada", "Bob"}[w.IntN(2)]}}
	switch w.IntN(8) {
	case 0, 1:
		m.Path = []string{"/a", "/b", "/a/b"}[w.IntN(3)]
	case 2:
		m.Held = true
	case 3:
		m.Was = &oplog.History{Past: oplog.Past{Revision: 1, By: w.some()}}
	}
	if w.IntN(3) == 0 {
		m.Expires = w.log.timeAfter(5 + w.IntN(20))
	}
	if w.IntN(3) == 0 {
		m.Session = []string{"s1", "s2"}[w.IntN(2)]
	}
	return &m
}

// op draws an operation.
func (w *smallWorld) op() oplog.Op {
	w.at++
	a, b, salt := w.some(), w.some(), make([]byte, oplog.MinSalt)
	switch w.IntN(20) {
	case 0, 1:
		return w.correction(a)
	case 2:
		return &oplog.Forget{RID: a, At: w.at}
	case 3:
		return &oplog.Supersede{Marks: []oplog.Mark{{RID: a, Revision: w.grounds(a).Revision, By: b, ByRevision: w.grounds(b).Revision,
			Record: oplog.ConflictRow{ID: fmt.Sprint("c", w.at)}}}, At: w.at}
	case 4, 5:
		made := w.product(w.read(a).Namespace, `{"consolidated_from":["`+a+`","`+b+`"]}`)
		return &oplog.Recast{Sources: []oplog.Grounds{w.grounds(a), w.grounds(b)}, Into: []oplog.Remember{made}, At: w.at}
	case 6:
		from := `{"split_from":"` + a + `"}`
		return &oplog.Recast{Sources: []oplog.Grounds{w.grounds(a)},
			Into: []oplog.Remember{w.product("alpha", from), w.product("alpha", from)}, At: w.at}
	case 7, 8, 9:
		return w.undo()
	case 10:
		return &oplog.Sweep{RIDs: []string{a, b}}
	case 11:
		return &oplog.Purge{RIDs: []string{a}, Salt: salt, At: w.at}
	case 12:
		return &oplog.Cognition{At: w.at, Retier: []oplog.Retier{{RID: b, To: "episodic"}},
			Merges: []oplog.Merge{{Into: w.product(w.read(a).Namespace, "{}"), Sources: []oplog.Grounds{w.grounds(a), w.grounds(b)}}}}
	case 13:
		return &oplog.Reinforce{Hits: []oplog.Hit{{RID: a, Count: 3, At: w.at}}}
	case 14:
		return &oplog.Foreign{OpID: fmt.Sprint("f", w.at), Type: "x", Stored: w.memory()}
	}
	return w.memory()
}

func (w *smallWorld) correction(rid string) oplog.Op {
	op := &oplog.Correct{RID: rid, Text: new(w.text()), Vector: w.vector(), At: w.at, Entities: []oplog.Mention{{Name: "Cleo"}}}
	switch w.IntN(6) {
	case 0, 1:
		op.Path = new([]string{"", "/a", "/b"}[w.IntN(3)])
	case 2:
		op.Namespace = new("alpha")
	case 3:
		op.Searchable = new(w.IntN(2) == 0)
	}
	op.Release = w.read(rid).Status == oplog.Quarantined
	return op
}

// undo takes back the last merge or split; without one it stores a memory.
func (w *smallWorld) undo() (op oplog.Op) {
	op = w.memory()
	must(w.t, w.state.Inspect(func(v *state.View) {
		v.MemoriesBack(1, 0, func(p *oplog.Memory) bool {
			from := v.MadeFrom(1, p)
			if p.Status != oplog.Active || len(from) == 0 {
				return true
			}
			back := &oplog.TakeBack{Made: []oplog.Grounds{{RID: p.RID, Revision: p.Revision}}, At: w.at}
			for _, rid := range slices.Compact(from) {
				if s, ok := v.Memory(1, rid); ok {
					back.Sources = append(back.Sources, oplog.Grounds{RID: rid, Revision: s.Revision})
				}
			}
			op = back
			return false
		})
	}))
	return op
}
