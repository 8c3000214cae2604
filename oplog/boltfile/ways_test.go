package boltfile

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// wandering is a file with small pages, of buckets like those of a state, that a test changes as it likes.
type wandering struct {
	t    *testing.T
	db   *bolt.DB
	ways *Ways
	rng  *rand.Rand
	rows int // of a commit, at most
}

func newWandering(t *testing.T, seed uint64) *wandering {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, &bolt.Options{NoFreelistSync: true, NoSync: true, FreelistType: bolt.FreelistMapType, PageSize: minPage,
		InitialMmapSize: 256 << 20}) // a file that grows out of its map waits for its readers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &wandering{t: t, db: db, rng: rand.New(rand.NewPCG(seed, 0)), rows: 300}
	if w.ways, err = LearnWays(db); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *wandering) key() []byte { return fmt.Append(nil, w.rng.IntN(20_000), "-key") }

// change commits something: rows that come, change and go, a stretch of them, all of a bucket.
func (w *wandering) change() {
	w.t.Helper()
	err := w.db.Update(func(tx *bolt.Tx) error {
		outer, err := tx.CreateBucketIfNotExists(fmt.Append(nil, "outer", w.rng.IntN(3)))
		if err != nil {
			return err
		}
		name := fmt.Append(nil, "inner", w.rng.IntN(40))
		if w.rng.IntN(20) == 0 {
			if err := outer.DeleteBucket(name); err != nil && outer.Bucket(name) != nil {
				return err
			}
		}
		b, err := outer.CreateBucketIfNotExists(name)
		if err != nil {
			return err
		}
		switch w.rng.IntN(5) {
		case 0:
			c := b.Cursor()
			n := w.rng.IntN(w.rows)
			for k, _ := c.Seek(w.key()); k != nil && n > 0; k, _ = c.Next() {
				if err := c.Delete(); err != nil {
					return err
				}
				n--
			}
		default:
			for range w.rng.IntN(w.rows) {
				if err := b.Put(w.key(), make([]byte, w.rng.IntN(60))); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// naming is the pages of the newest tree that name others, by a walk that knows nothing of rounds and levels.
func (w *wandering) naming() map[uint64]uint32 {
	w.t.Helper()
	tx, err := w.db.Begin(false)
	if err != nil {
		w.t.Fatal(err)
	}
	defer tx.Rollback()
	g, all := NewGuard(tx, nil), map[uint64]uint32{}
	var walk func(id uint64) error
	walk = func(id uint64) error {
		p, err := g.page(id, either)
		if err != nil {
			return err
		}
		if !p.leaf || p.count > 0 && p.bucket(0) {
			all[id] = p.sum()
		}
		return p.each(walk)
	}
	if err := walk(uint64(tx.Cursor().Bucket().Root())); err != nil {
		w.t.Fatal(err)
	}
	return all
}

func (w *wandering) knownNow() map[uint64]uint32 {
	all := map[uint64]uint32{}
	for at, c := range *w.ways.known.Load() {
		for i := range c {
			if v := c[i].Load(); v != 0 {
				all[uint64(at*len(c)+i)] = uint32(v)
			}
		}
	}
	return all
}

// reader holds a tree while others replace it.
type reader struct {
	tx   *bolt.Tx
	rows map[string][]string
}

// some asks for the rows of a few buckets, and for as many that are not there, as a state does.
func (r reader) some(t *testing.T, ways *Ways) {
	t.Helper()
	few := 5
	for path, keys := range r.rows { // others each time
		if few--; few < 0 {
			return
		}
		g := NewGuard(r.tx, ways)
		var outer, inner string
		if _, err := fmt.Sscan(path, &outer, &inner); err != nil {
			t.Fatal(err)
		}
		tree, err := g.Tree(false, []byte(outer), []byte(inner))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if err := g.Lead(tree, []byte(k)); err != nil {
				t.Fatal(err)
			}
			k := []byte(k + "x")
			if _, err := g.Look(tree, k, k, k, func([]byte, []byte) {}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (w *wandering) reader() reader {
	w.t.Helper()
	tx, err := w.db.Begin(false)
	if err != nil {
		w.t.Fatal(err)
	}
	r := reader{tx, map[string][]string{}}
	err = tx.ForEach(func(outer []byte, o *bolt.Bucket) error {
		return o.ForEachBucket(func(inner []byte) error {
			return o.Bucket(inner).ForEach(func(k, _ []byte) error {
				path := fmt.Sprintf("%s %s", outer, inner)
				r.rows[path] = append(r.rows[path], string(k))
				return nil
			})
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// TestWaysAreThoseOfTheTree: after every commit the pages known are those that name others, and no reader is told of damage,
// however old his tree is, and whether or not the commit he sees was followed.
func TestWaysAreThoseOfTheTree(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWandering(t, seed)
	var readers []reader
	for n := range 300 {
		w.change()
		skip := w.rng.IntN(10) == 0
		if w.rng.IntN(4) == 0 {
			readers = append(readers, w.reader())
		}
		if !skip {
			if err := w.ways.Follow(); err != nil {
				t.Fatal(err)
			}
			if want, got := w.naming(), w.knownNow(); !maps.Equal(got, want) {
				t.Fatalf("commit %d: %d pages are known, and %d name others", n, len(got), len(want))
			}
		}
		for _, r := range readers {
			r.some(t, w.ways)
		}
		if len(readers) > 3 {
			i := w.rng.IntN(len(readers))
			if err := readers[i].tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			readers[i] = readers[len(readers)-1]
			readers = readers[:len(readers)-1]
		}
	}
	for _, r := range readers {
		if err := r.tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.naming()) < 100 {
		t.Errorf("%d pages are no tree to speak of", len(w.naming()))
	}
}

// TestWaysStartAnew when their rounds are through.
func TestWaysStartAnew(t *testing.T) {
	w := newWandering(t, 1)
	for i := range 20 {
		w.ways.round = maxRounds - 10 + uint64(i%10)
		if i == 10 {
			w.ways.round = maxRounds
		}
		w.change()
		if err := w.ways.Follow(); err != nil || !maps.Equal(w.knownNow(), w.naming()) {
			t.Fatalf("commit %d: %v", i, err)
		}
	}
}

// TestAChangedWayIsMet: a bit of a page that names others is met by who goes that way, and by the commit that replaces the page.
func TestAChangedWayIsMet(t *testing.T) {
	w := newWandering(t, 2)
	for range 60 {
		w.change()
		if err := w.ways.Follow(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(w.db.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size := w.db.Info().PageSize
	for id := range w.naming() {
		head, b := make([]byte, headSize), make([]byte, 1)
		if _, err := f.ReadAt(head, int64(id)*int64(size)); err != nil {
			t.Fatal(err)
		}
		at := int64(id)*int64(size) + w.rng.Int64N(headSize+elemSize*int64(order.Uint16(head[10:])))
		if _, err := f.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		was := b[0]
		for _, now := range []byte{was ^ 1<<w.rng.IntN(8), was} {
			if _, err := f.WriteAt([]byte{now}, at); err != nil {
				t.Fatal(err)
			}
			tx, err := w.db.Begin(false)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := NewGuard(tx, w.ways).page(id, either); (err == nil) != (now == was) || err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("page %d, byte %d: %v", id, at%int64(size), err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, first, b := int64(w.ways.root)*int64(size), make([]byte, elemSize), make([]byte, 1)
	if _, err := f.ReadAt(first, root+headSize); err != nil {
		t.Fatal(err)
	}
	// The number that bbolt counts in a bucket, which nobody looks at: the commit after is a good one.
	at := root + headSize + int64(order.Uint32(first[4:])) + int64(order.Uint32(first[8:])) + 8
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	w.change()
	for range 2 { // what it would learn now may have been made of what was changed
		if err := w.ways.Follow(); !errors.Is(err, ErrDamaged) {
			t.Errorf("the old root was changed: %v", err)
		}
		tx, err := w.db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewGuard(tx, w.ways).Tree(false, []byte("outer0"), []byte("inner0")); !errors.Is(err, ErrDamaged) {
			t.Errorf("who looks is told %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		w.change()
	}
}
