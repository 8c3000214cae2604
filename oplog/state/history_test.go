package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"pgregory.net/rapid"
)

// history draws a sequence of entries over a small world, so that they use the same ids, keys and names.
func history(t *rapid.T) []oplog.Record {
	return historyOf(t, rapid.IntRange(10, 80).Draw(t, "entries"), 12)
}

// historyOf draws a history of n records over a world of the given size.
func historyOf(t *rapid.T, n, world int) []oplog.Record {
	records := []oplog.Record{record(1, []oplog.Entry{{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}})}
	id := func(prefix string) string { return fmt.Sprint(prefix, rapid.IntRange(0, world).Draw(t, "id")) }
	at := oplog.Time(0)
	found := func() []oplog.Claim {
		return []oplog.Claim{{ID: id("claim"), Src: id("e"), Type: "works_at", Dst: id("e"),
			Polarity: int8(rapid.IntRange(-1, 1).Draw(t, "polarity")), Extractor: "x"}}
	}
	path := func() string {
		return rapid.SampledFrom([]string{"", "", "", "", "", "/a", "/a/b", "/c"}).Draw(t, "path")
	}
	op := func() oplog.Op {
		at++
		switch rapid.IntRange(0, 41).Draw(t, "kind") {
		case 0, 1, 2, 3:
			return &oplog.Remember{Content: oplog.Content{RID: id("m"), Text: id("text"), Namespace: id("ns"),
				Session: rapid.SampledFrom([]string{"", "", "s1", "t1"}).Draw(t, "session"), Created: at, Expires: expires(t),
				Refresh:      rapid.SampledFrom([]float64{0, 20}).Draw(t, "refresh"),
				Unsearchable: rapid.IntRange(0, 4).Draw(t, "unsearchable") == 0, Path: path(),
				Due: rapid.SampledFrom([]oplog.Time{0, 0, 7}).Draw(t, "due")},
				Vector:   rapid.SampledFrom([]oplog.Vector{nil, make(oplog.Vector, 8), make(oplog.Vector, 12)}).Draw(t, "vector"),
				Entities: []oplog.Mention{{Name: id("e")}}}
		case 4:
			text := id("new")
			return &oplog.Correct{RID: id("m"), Text: &text, Place: oplog.Place{Path: new(path())}, At: at}
		case 5:
			return &oplog.Forget{RID: id("m"), At: at}
		case 6:
			name := id("e")
			return &oplog.Relate{ID: id("edge"), Src: name, Dst: id("e"), Type: "knows", Weight: 1, At: at}
		case 7:
			return &oplog.SessionStart{ID: id("s"), Namespace: id("ns"), Client: "c", At: at}
		case 8:
			return &oplog.SessionEnd{ID: id("s"), At: at}
		case 9:
			return &oplog.Reinforce{Hits: []oplog.Hit{{RID: id("m"), Count: 2, At: at}}}
		case 14, 15:
			return &oplog.Stated{Texts: []oplog.Statements{{RID: id("m"), Claims: found()}}}
		case 16:
			return &oplog.Linked{Links: []oplog.Link{{RID: id("m"), Name: id("e")}}, At: at}
		case 17:
			c := found()[0]
			c.Namespace, c.At, c.SourceRID = id("ns"), at, id("m")
			return &oplog.Assert{Claim: c}
		case 10:
			c := found()[0]
			c.Namespace, c.At = id("ns"), at
			return &c
		case 11:
			return &oplog.Alias{Namespace: id("ns"), Alias: id("e"), Canonical: id("e"), At: at}
		case 12:
			return &oplog.Unrelate{ID: id("edge"), At: at}
		case 19:
			return &oplog.Keyed{Namespace: id("ns"), Path: "/a", IfAbsent: rapid.Bool().Draw(t, "absent")}
		case 18:
			return &oplog.Partition{At: oplog.Index(rapid.IntRange(0, 80).Draw(t, "learned")),
				Partitions: oplog.Partitions{Dim: rapid.SampledFrom([]uint32{0, 8}).Draw(t, "dim")}}
		case 24, 25:
			return &oplog.Sweep{RIDs: []string{id("m"), id("m"), id("m")}}
		case 26:
			text, pin, searchable, when := id("new"), rapid.Bool().Draw(t, "pin"), rapid.Bool().Draw(t, "searchable"), expires(t)
			return &oplog.Correct{RID: id("m"), Text: &text, Pin: &pin, Searchable: &searchable, Expires: &when,
				Entities: []oplog.Mention{{Name: id("e")}}, At: at}
		case 27, 28:
			k := oplog.Mark{RID: id("m"), By: rapid.SampledFrom([]string{"", id("m"), id("m")}).Draw(t, "by"),
				Revision: uint32(rapid.IntRange(0, 1).Draw(t, "revision"))}
			k.Record = oplog.ConflictRow{ID: id("conflict"), Type: "minor", Priority: oplog.Low}
			return &oplog.Supersede{Marks: []oplog.Mark{k}, At: at}
		case 29, 30, 31, 32, 33:
			return recastOp(t, id, at)
		case 34:
			return &oplog.Correct{RID: id("m"), Place: oplog.Place{Namespace: new(id("ns"))}, At: at}
		case 35, 36, 37, 38, 39, 40, 41:
			return otherOp(t, id, at)
		case 13:
			return &oplog.Abandon{Before: at - 50, Max: 2, At: at}
		default:
			return mindOp(t, id, at)
		}
	}
	for i := range n {
		var entries []oplog.Entry
		for range rapid.IntRange(1, 3).Draw(t, "coalesced") {
			if rapid.IntRange(0, 7).Draw(t, "control") == 0 {
				entries = append(entries, oplog.Entry{Node: 1, Ops: []oplog.Op{controlOp(t, at)}})
				continue
			}
			if rapid.IntRange(0, 15).Draw(t, "purge") == 0 {
				e := oplog.Entry{Node: 1, DB: rapid.SampledFrom([]oplog.DB{1, 2, 3}).Draw(t, "database")}
				e.Ops = []oplog.Op{&oplog.Purge{Before: oplog.Time(rapid.IntRange(0, int(at)+1).Draw(t, "before")), At: at},
					&oplog.Audit{By: "x", What: "purge", At: at}}
				entries = append(entries, e)
				continue
			}
			e := oplog.Entry{Node: 1, DB: rapid.SampledFrom([]oplog.DB{1, 1, 1, 2, 3}).Draw(t, "database"),
				Key: rapid.SampledFrom([]string{"", "", "k1", "k2"}).Draw(t, "key")}
			for range rapid.IntRange(1, 4).Draw(t, "ops") {
				e.Ops = append(e.Ops, op())
			}
			entries = append(entries, e)
		}
		records = append(records, record(oplog.Index(i+2), entries))
	}
	return records
}

// recastOp draws a merge or a split, or the end of one. The id of a resulting memory is derived from that of its
// source.
func recastOp(t *rapid.T, id func(string) string, at oplog.Time) oplog.Op {
	m, other := id("m"), id("m")
	grounds := func(rid string) oplog.Grounds {
		return oplog.Grounds{RID: rid, Revision: uint32(rapid.IntRange(0, 1).Draw(t, "revision"))}
	}
	made := func(rid string) oplog.Remember {
		return oplog.Remember{Content: oplog.Content{RID: rid, Text: rid, Namespace: id("ns"), Created: at,
			Metadata: []byte(`{"split_from":"` + m + `","consolidated_from":["` + m + `","` + other + `"]}`)},
			Entities: []oplog.Mention{{Name: id("e")}}}
	}
	switch rapid.IntRange(0, 3).Draw(t, "recast") {
	case 0:
		return &oplog.Recast{Sources: []oplog.Grounds{grounds(m), grounds(other)}, Into: []oplog.Remember{made("z" + m)}, At: at}
	case 1:
		return &oplog.Recast{Sources: []oplog.Grounds{grounds(m)}, Into: []oplog.Remember{made("x" + m), made("y" + m)}, At: at}
	case 2:
		return &oplog.TakeBack{Made: []oplog.Grounds{{RID: "z" + m}},
			Sources: []oplog.Grounds{{RID: m, Revision: 1}, {RID: other, Revision: 1}}, At: at}
	}
	return &oplog.TakeBack{Made: []oplog.Grounds{{RID: "x" + m}, {RID: "y" + m}}, Sources: []oplog.Grounds{{RID: m, Revision: 1}}, At: at}
}

// expires draws a time within the history; usually none.
func expires(t *rapid.T) oplog.Time {
	if rapid.Bool().Draw(t, "lasts") {
		return 0
	}
	return 1_700_000_000_000_000 + oplog.Time(rapid.IntRange(0, 90).Draw(t, "expires"))*1e6
}

func record(i oplog.Index, entries []oplog.Entry) oplog.Record {
	bodies := make([][]byte, len(entries))
	for n, e := range entries {
		b, err := e.Encode()
		if err != nil {
			panic(err)
		}
		bodies[n] = b
	}
	return oplog.Record{Index: i, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+uint64(i)*1000, 0, 1), bodies...)}
}

// TestOneHistoryOneState: the same records in other batches, across restarts and a snapshot, encrypted under one key
// or another or not at all, produce the same state and the same answers. The running sum and the counters equal a
// recount.
func TestOneHistoryOneState(t *testing.T) {
	dir := t.TempDir()
	rings := []*seal.Ring{nil, seal.Ephemeral([]seal.Master{seal.NewMaster()}), seal.Ephemeral([]seal.Master{seal.NewMaster()})}
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		records := history(t)
		a := mustOpen(t, filepath.Join(dir, fmt.Sprint(run, "a")))
		defer a.Close()
		said, err := a.Apply(records)
		must(t, err)
		path := filepath.Join(dir, fmt.Sprint(run, "b"))
		keys := rapid.SampledFrom(rings).Draw(t, "keys")
		b := mustOpenSealed(t, path, keys)
		defer func() { b.Close() }()
		at := 0
		var saidB []oplog.Outcome
		for i := 0; i < len(records); {
			n := rapid.IntRange(1, 20).Draw(t, "batch")
			batch := records[max(0, i-rapid.IntRange(0, 3).Draw(t, "again")):min(len(records), i+n)]
			out, err := b.Apply(batch)
			must(t, err)
			saidB = append(saidB, out...)
			checkCurrent(t, b)
			i += n
			switch at++; rapid.IntRange(0, 11).Draw(t, "then") {
			case 0:
				b.Close()
				b = mustOpenSealed(t, path, keys)
			case 1:
				keys = rapid.SampledFrom(rings).Draw(t, "keys")
				b = reopenFromSnapshot(t, b, filepath.Join(dir, fmt.Sprint(run, "c", at)), keys)
				path = b.dir
			case 2:
				if keys != nil {
					must(t, keys.Rotate())
				}
			case 3:
				b = reopenAfterCrash(t, b, rapid.Bool().Draw(t, "flush"), keys)
				applied, _ := b.Applied()
				i = slices.IndexFunc(append(records, oplog.Record{Index: applied + 1}),
					func(r oplog.Record) bool { return r.Index > applied })
				saidB = slices.DeleteFunc(saidB, func(o oplog.Outcome) bool { return o.Index > applied })
			}
		}
		if len(said) != len(saidB) {
			t.Fatalf("%d answers, then %d", len(said), len(saidB))
		}
		for i := range said {
			if x, y := answer(said[i]), answer(saidB[i]); x != y {
				t.Fatalf("entry %d: %s, then %s", i, x, y)
			}
		}
		same(t, a, b)
	})
}

// checkCurrent compares the cached databases with the rows.
func checkCurrent(t *rapid.T, s *State) {
	must(t, s.Read(func(v *View) error {
		for db := range oplog.DB(3) {
			c, err := s.Current(db)
			ok := err == nil
			if !ok && !errors.Is(err, oplog.ErrNoDatabase) {
				t.Fatal(err)
			}
			if row, there := v.Database(db); ok != there || !reflect.DeepEqual(c.Database, row) ||
				ok && (c.Stats != v.counters(db) || !reflect.DeepEqual(c.Embedding, v.Embedding(db))) {
				t.Fatalf("database %d: %t %+v, the rows say %t %+v %+v", db, ok, c, there, row, v.Stats(db))
			}
			if w, learned := v.Weights(db); learned != (c.Weights != nil) || learned && *c.Weights != w {
				t.Fatalf("database %d: weights %+v, the row says %t %+v", db, c.Weights, learned, w)
			}
		}
		return nil
	}))
}

// answer formats an outcome as its client sees it.
func answer(o oplog.Outcome) string {
	return fmt.Sprintf("%x %v %t %v", oplog.Pack(nil, &o.Results), o.Err, o.Replayed, o.HLC)
}

func reopenFromSnapshot(t *rapid.T, s *State, path string, keys *seal.Ring) *State {
	next := mustOpenSealed(t, path, keys)
	must(t, next.Restore(snapshotOf(t, s), nil))
	s.Close()
	return next
}

// reopenAfterCrash continues with the files that are on the disk at this moment, as after a kill.
func reopenAfterCrash(t *rapid.T, s *State, flush bool, keys *seal.Ring) *State {
	if flush {
		must(t, s.Flush())
	}
	at, _ := s.Applied()
	must(t, errors.Join(s.live.Abandon(), s.lock.Close()))
	next := mustOpenSealed(t, s.dir, keys)
	if got, _ := next.Applied(); flush && got != at {
		t.Fatalf("flushed at %d, and at %d after a crash", at, got)
	}
	return next
}

func same(t *rapid.T, a, b *State) {
	ia, sa := a.Sum()
	ib, sb := b.Sum()
	if ia != ib || sa != sb {
		t.Fatalf("at %d %s, at %d %s", ia, sa, ib, sb)
	}
	for _, s := range []*State{a, b} {
		err := s.Read(func(v *View) error {
			if got := v.Recount(); got != v.Sum() {
				return fmt.Errorf("sum %s, counted %s", v.Sum(), got)
			}
			var count [4]uint64 // as readers see them: checkIndexed counts what is stored
			v.Memories(1, 0, func(m *oplog.Memory) bool { count[m.Status]++; return true })
			if st := v.Stats(1); st.Active != count[oplog.Active] || st.Consolidated != count[oplog.Consolidated] ||
				st.Tombstoned != count[oplog.Tombstoned] || st.Quarantined != count[oplog.Quarantined] {
				return fmt.Errorf("counters %+v, counted %v", st, count)
			}
			return errors.Join(countMind(v), checkIndexed(v, 1), checkIndexed(v, 2), checkControl(v))
		})
		must(t, err)
	}
}
