package oplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// world fills a state with tables that are several pages deep.
func world(t *testing.T, s *State, memories int) {
	t.Helper()
	records := []Record{record(1, []Entry{{Node: 1, Ops: []Op{&Init{Cluster: "c", At: 1}}}})}
	for i := range memories {
		e := Entry{DB: 1, Key: fmt.Sprint("key ", i*7919%memories), Digest: []byte("digest"), Ops: []Op{
			&Remember{RID: fmt.Sprint("m", i), Text: fmt.Sprint("text number ", i), Namespace: fmt.Sprint("ns", i%3), Session: fmt.Sprint("session ", i%5),
				Created: Time(i + 1), Vector: make(Vector, 16), Entities: []Mention{{Name: fmt.Sprint("entity ", i%50)}}},
			&Relate{ID: fmt.Sprint("edge", i), Src: fmt.Sprint("entity ", i%50), Dst: fmt.Sprint("entity ", i%49), Type: "knows", Weight: 1, At: Time(i + 1)},
		}}
		records = append(records, record(Index(len(records)+1), []Entry{e}))
	}
	for len(records) > 0 {
		n := min(100, len(records))
		if _, err := s.Apply(records[:n]); err != nil {
			t.Fatal(err)
		}
		records = records[n:]
	}
}

// guardedly runs f, and says whether it was told of damage. A fault in memory ends a node, which then looks at its file.
func guardedly(f func()) (told bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(runtime.Error); !ok {
				panic(p)
			}
			told = true
		}
	}()
	return errors.Is(caught(func() error { f(); return nil }), ErrState)
}

type plainRow struct{ k, v []byte }

// allRows are a state's rows by table, in the order of walks.
func allRows(t *testing.T, s *State) map[bucketID][]plainRow {
	t.Helper()
	all := map[bucketID][]plainRow{}
	if err := s.Read(func(v *View) error {
		for table := range tableNames {
			for db := range DB(2) {
				id := bucketID{table, db}
				v.scan(table, db, nil, func(k, val []byte) bool {
					all[id] = append(all[id], plainRow{bytes.Clone(k), bytes.Clone(val)})
					return true
				})
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// wrong asks for all rows in all ways, and says what was answered and is not so.
func wrong(s *State, want map[bucketID][]plainRow) (what string, told int) {
	ask := func(id bucketID, name string, f func(v *View) bool) {
		right := true
		if guardedly(func() {
			v, err := s.View()
			if err != nil {
				panic(diskError{err})
			}
			defer v.Close()
			right = f(v)
		}) {
			told++
		} else if !right {
			what = fmt.Sprintf("table %s of database %d: %s", tableNames[id.table], id.db, name)
		}
	}
	for id, rows := range want {
		ask(id, "a walk", func(v *View) bool {
			n, same := 0, true
			v.scan(id.table, id.db, nil, func(k, val []byte) bool {
				same = same && n < len(rows) && bytes.Equal(k, rows[n].k) && bytes.Equal(val, rows[n].v)
				n++
				return true
			})
			return same && n == len(rows)
		})
		ask(id, "a walk back", func(v *View) bool {
			n, same := len(rows), true
			v.scanBack(id.table, id.db, nil, func(k, val []byte) bool {
				n--
				same = same && n >= 0 && bytes.Equal(k, rows[n].k)
				return true
			})
			return same && n == 0
		})
		for i, r := range rows {
			ask(id, "a key", func(v *View) bool { return bytes.Equal(v.get(id.table, id.db, r.k), r.v) })
			if i%7 > 0 {
				continue
			}
			ask(id, "a prefix", func(v *View) bool {
				found := false
				v.scan(id.table, id.db, r.k, func(k, _ []byte) bool {
					found = bytes.Equal(k, r.k)
					return !found
				})
				return found
			})
			if i+1 < len(rows) && layouts[id.table] == "" {
				ask(id, "a neighbour", func(v *View) bool {
					c := v.bucket(id.table, id.db).Cursor()
					c.Seek(r.k)
					next, _ := c.Next()
					again, _ := c.Prev()
					return bytes.Equal(next, rows[i+1].k) && bytes.Equal(again, r.k)
				})
			}
		}
	}
	return what, told
}

// structure are the places in a file by which bbolt finds its way: the metas, heads of pages, lists of elements, the numbers of pages,
// and the keys.
func structure(raw []byte, size int) (at []int) {
	add := func(from, n int) {
		for i := range n {
			at = append(at, from+i)
		}
	}
	var page func(from, to int)
	page = func(from, to int) {
		flags, count := binary.NativeEndian.Uint16(raw[from+8:]), int(binary.NativeEndian.Uint16(raw[from+10:]))
		add(from, 16)
		for i := range count {
			e := from + 16 + 16*i
			add(e, 16)
			word := func(n int) int { return int(binary.NativeEndian.Uint32(raw[e+4*n:])) }
			if flags == 1 {
				add(e+word(0), word(1))
				continue
			}
			add(e+word(1), word(2))
			if word(0) == 1 { // a bucket
				value := e + word(1) + word(2)
				add(value, 8)
				if binary.NativeEndian.Uint64(raw[value:]) == 0 {
					page(value+16, to)
				}
			}
		}
	}
	for meta := range 2 {
		add(meta*size+16, 64)
	}
	for from := 2 * size; from < len(raw); from += size {
		flags := binary.NativeEndian.Uint16(raw[from+8:])
		if binary.NativeEndian.Uint64(raw[from:]) != uint64(from/size) || flags != 1 && flags != 2 {
			continue
		}
		page(from, from+size)
		from += size * int(binary.NativeEndian.Uint32(raw[from+12:]))
	}
	return at
}

func flipsWanted() int {
	if n, err := strconv.Atoi(os.Getenv("CAIRN_FLIPS")); err == nil {
		return n
	}
	return 60
}

// TestNoBitHidesARow flips bits by which bbolt finds its way, in a file that is open, and asks for everything: whoever is not
// told of damage is given what was written. CAIRN_FLIPS sets how many.
func TestNoBitHidesARow(t *testing.T) {
	flips := flipsWanted()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "encrypted": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			s := mustOpenSealed(t, path, keys)
			defer s.Close()
			world(t, s, 400)
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			want := allRows(t, s)
			if what, told := wrong(s, want); what != "" || told > 0 {
				t.Fatalf("a state that is whole: %q, %d are told of damage", what, told)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			places := structure(raw, s.db.Info().PageSize)
			found := 0
			for range flips {
				at, bit := places[rng.IntN(len(places))], byte(1)<<rng.IntN(8)
				put := func(b byte) {
					if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
						t.Fatal(err)
					}
				}
				put(raw[at] ^ bit)
				what, told := wrong(s, want)
				if told > 0 && found < 20 { // else nobody would mend it
					if told := guardedly(func() { err = s.Scrub(t.Context(), 0) }); !told && !errors.Is(err, ErrState) {
						t.Errorf("seed %d: bit %#x at %d: the scrub says %v", seed, bit, at, err)
					}
				}
				put(raw[at])
				if what != "" {
					t.Errorf("seed %d: bit %#x at %d: %s is answered wrongly", seed, bit, at, what)
				}
				if told > 0 {
					found++
				}
			}
			t.Logf("%d of %d flips were met", found, flips)
			if found < flips/10 {
				t.Error("too few of them to show anything")
			}
		})
	}
}

// TestNoBitMakesApplyDiffer: what is applied to a file in which such a bit flipped is refused, or comes to the same state as elsewhere.
func TestNoBitMakesApplyDiffer(t *testing.T) {
	flips := flipsWanted()
	dir := t.TempDir()
	first := filepath.Join(dir, "state.db")
	s := mustOpen(t, first)
	world(t, s, 400)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	next := func(i Index) (records []Record) {
		for n := range 200 {
			key, rid, text := fmt.Sprint("key ", n*2), fmt.Sprint("m", n*2), "another text"
			ops := []Op{&Remember{RID: fmt.Sprint("m", 399-n), Text: "twice", Namespace: "ns1", Created: 1}}
			switch n % 4 {
			case 1:
				key, ops = fmt.Sprint("new key ", n), []Op{&Correct{RID: rid, Text: &text, At: 1000}, &Forget{RID: fmt.Sprint("m", n+100), At: 1000}}
			case 2:
				key, ops = "", []Op{&Relate{ID: fmt.Sprint("edge", n*2), Src: "entity 1", Dst: "entity 2", Type: "knows", Weight: 1, At: 1000}}
			case 3:
				key, ops = "", []Op{&Remember{RID: fmt.Sprint("new", n), Text: "new", Namespace: "ns1", Session: "session 1", Created: 1000}, &SessionEnd{ID: "session 2", At: 1000}}
			}
			i++
			records = append(records, record(i, []Entry{{DB: 1, Key: key, Digest: []byte("digest"), Ops: ops}}))
		}
		return records
	}
	var want Sum
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	refused := 0
	for flip := range flips + 1 {
		path := filepath.Join(dir, fmt.Sprint("copy ", flip))
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, path)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := 0, byte(0)
		if flip > 0 { // the first is left as it is
			places := structure(raw, s.db.Info().PageSize)
			at, bit = places[rng.IntN(len(places))], byte(1)<<rng.IntN(8)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt([]byte{raw[at] ^ bit}, int64(at)); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		at64, _ := s.Applied()
		var failed error
		told := guardedly(func() { _, failed = s.Apply(next(at64)) })
		_, sum := s.Sum()
		switch {
		case told || failed != nil:
			refused++
		case flip == 0:
			want = sum
		case sum != want:
			t.Errorf("seed %d: bit %#x at %d: the state is another", seed, bit, at)
		}
		if !told { // else bbolt holds its locks for ever
			s.Close()
		}
		os.Remove(path)
	}
	t.Logf("%d of %d flips were met", refused, flips)
}

// TestTablesAreNamedApart: of a name that is a bit away from one that is missing, nobody can say that it is another's.
func TestTablesAreNamedApart(t *testing.T) {
	for a, name := range tableNames {
		for b, other := range tableNames {
			if a != b && (bytes.Equal(name, other) || oneBit(name, other)) {
				t.Errorf("%s and %s", name, other)
			}
		}
	}
}
