package oplog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/seal"
)

// planted is a history in which every text that somebody may have given bears a mark.
func planted() []Record {
	meta := []byte(`{"note":"plantedmeta"}`)
	text := "plantednew"
	at := Time(1_700_000_000_000_000)
	return []Record{
		record(1, []Entry{{Ops: []Op{&Init{Cluster: "c"}}}}),
		record(2, []Entry{
			{DB: 1, Key: "plantedkey", Digest: []byte("d"), Ops: []Op{&SessionStart{ID: "plantedsession", Namespace: "plantedns", Client: "plantedclient", At: at}}},
			{DB: 1, Key: "plantedkey2", Ops: []Op{&Remember{RID: NewID(), Text: "plantedtext", Namespace: "plantedns", Created: at, Metadata: meta,
				Session: "plantedsession", Entities: []Mention{{Name: "plantedentity"}}, Vector: MakeVector([]float32{1, 2})}}},
			{DB: 1, Ops: []Op{&Remember{RID: "plantedrid", Text: "plantedold", Namespace: "plantedns", Created: at}}},
			{DB: 1, Ops: []Op{&Correct{RID: "plantedrid", Text: &text, At: at}}},
			{DB: 1, Ops: []Op{&Relate{ID: "plantededge", Src: "plantedsrc", Dst: "planteddst", Type: "plantedtype", Weight: 1, At: at}}},
			{DB: 1, Ops: []Op{&Claim{ID: NewID(), Namespace: "plantedns", Src: "plantedclaimer", Dst: "plantedclaimed", Type: "plantedrel", Polarity: 1, Extractor: "plantedextractor", At: at}}},
			{DB: 1, Ops: []Op{&Alias{Namespace: "plantedns", Alias: "plantedalias", Canonical: "plantedentity", At: at}}},
			{DB: 1, Ops: []Op{&Event{Workspace: "plantedws", Session: "plantedses", Tool: "plantedtool", Payload: []byte(`{"x":"plantedpayload"}`), Hash: []byte("plantedhash")}}},
			{Ops: []Op{&CreateDB{Name: "planteddb", At: at}}},
		}),
	}
}

func TestNothingReadableInAnEncryptedState(t *testing.T) {
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	dir := t.TempDir()
	a, b := mustOpen(t, filepath.Join(dir, "plain")), mustOpenSealed(t, filepath.Join(dir, "sealed"), keys)
	defer a.Close()
	records := planted()
	for _, s := range []*State{a, b} {
		out, err := s.Apply(records)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if o.Err != nil {
				t.Errorf("entry %d: %v", o.Number, o.Err)
			}
		}
	}
	_, x := a.Sum()
	if _, y := b.Sum(); x != y {
		t.Errorf("plain %s, encrypted %s", x, y)
	}
	// A plain state's snapshot in an encrypted file, and the other way round.
	snapshot := func(s *State) *bytes.Buffer {
		snap, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Release()
		var buf bytes.Buffer
		if _, err := snap.WriteTo(&buf); err != nil {
			t.Fatal(err)
		}
		return &buf
	}
	c, d := mustOpenSealed(t, filepath.Join(dir, "from-plain"), keys), mustOpen(t, filepath.Join(dir, "from-sealed"))
	for s, from := range map[*State]*State{c: a, d: b} {
		if err := s.Restore(snapshot(from), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
		if _, y := s.Sum(); x != y {
			t.Errorf("%s hashes to %s, not %s", s.path, y, x)
		}
	}
	for _, s := range []*State{b, c, d} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	count := func(name string) (n int) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(raw, []byte("planted"))
	}
	if n := count("sealed") + count("from-plain"); n != 0 {
		t.Errorf("%d marks in encrypted files", n)
	}
	if n := count("from-sealed"); n == 0 {
		t.Error("no mark in a plain file: what is looked for is not there at all")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.image")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKeysAreAskedFor(t *testing.T) {
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	dir := t.TempDir()
	mustOpen(t, filepath.Join(dir, "plain")).Close()
	mustOpenSealed(t, filepath.Join(dir, "sealed"), keys).Close()
	for _, c := range []struct {
		file string
		keys *seal.Ring
		want error
	}{{"plain", keys, seal.ErrPlain}, {"sealed", nil, seal.ErrSealed}, {"sealed", seal.Ephemeral([]seal.Master{seal.NewMaster()}), seal.ErrKey}} {
		_, err := Open(filepath.Join(dir, c.file), Options{Keys: c.keys})
		if !errors.Is(err, c.want) || IsCorrupt(err) {
			t.Errorf("%s: %v, want %v", c.file, err, c.want)
		}
	}
}

// TestDamagedValuesAreNamed flips a bit in each value of a file, one after another: every one is noticed, with its table.
func TestDamagedValuesAreNamed(t *testing.T) {
	t.Run("encrypted", func(t *testing.T) {
		damagedValues(t, seal.Ephemeral([]seal.Master{seal.NewMaster()}), seal.ErrDamaged, seal.ErrKey)
	})
	t.Run("plain", func(t *testing.T) { damagedValues(t, nil, errRowSum, errRowSum) })
}

// damagedValues says what a flip in the middle of a value is to be, and at its beginning, where an encrypted one names its key.
func damagedValues(t *testing.T, keys *seal.Ring, inMiddle, atFirst error) {
	path := filepath.Join(t.TempDir(), "state")
	s := mustOpenSealed(t, path, keys)
	if _, err := s.Apply(planted()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip := func(n int, at func([]byte) int) (where string) {
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.Update(func(tx *bolt.Tx) error {
			return eachValue(tx, func(b *bolt.Bucket, table string, k, v []byte) error {
				if n--; n != -1 {
					return nil
				}
				where = table
				v = bytes.Clone(v)
				v[at(v)] ^= 0x10
				return b.Put(bytes.Clone(k), v)
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return where
	}
	middle, first := func(v []byte) int { return len(v) / 2 }, func([]byte) int { return 0 }
	seen := 0
	for ; ; seen++ {
		at, want := middle, inMiddle
		if seen%2 == 1 {
			at, want = first, atFirst
		}
		where := flip(seen, at)
		if where == "" {
			break
		}
		if where == "meta" && want == seal.ErrKey { // refused, and not moved aside
			if _, err := Open(path, Options{NoSync: true, Keys: keys}); IsCorrupt(err) || !errors.Is(err, seal.ErrKey) {
				t.Errorf("the mark names another key: %v", err)
			}
			flip(seen, at)
			continue
		}
		s, err := Open(path, Options{NoSync: true, Keys: keys})
		if err == nil {
			err = errors.Join(s.Verify(), s.Read(func(v *View) error { return v.Log(0, func(Outcome) bool { return true }) }), s.Close())
		}
		if keys != nil && errors.Is(err, errRowSum) { // of an empty one
			want = errRowSum
		}
		if !IsCorrupt(err) || !errors.Is(err, want) || !strings.Contains(fmt.Sprint(err), where) {
			t.Errorf("value %d, in %s: %v", seen, where, err)
		}
		if said := fmt.Sprint(err); strings.Contains(said, "planted") || strings.Contains(said, fmt.Sprintf("%x", "planted")) {
			t.Errorf("value %d, in %s: %s", seen, where, said)
		}
		flip(seen, at) // back
	}
	if seen < 20 {
		t.Errorf("only %d values were looked at", seen)
	}
	s = mustOpenSealed(t, path, keys)
	defer s.Close()
	if err := s.Verify(); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

// eachValue visits the sealed values of a file.
func eachValue(tx *bolt.Tx, f func(b *bolt.Bucket, table string, k, v []byte) error) error {
	var walk func(name string, b *bolt.Bucket) error
	walk = func(name string, b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			if v == nil {
				return walk(string(k), b.Bucket(k))
			}
			if len(v) == 0 || bytes.Equal(k, keyFmt) || bytes.Equal(k, keySealed) {
				return nil
			}
			return f(b, name, k, v)
		})
	}
	return tx.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name), b) })
}

// A stream of rows that lies is refused, and never a panic.
func FuzzRows(f *testing.F) {
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	s := mustOpenSealed(f, filepath.Join(f.TempDir(), "state"), keys)
	if _, err := s.Apply(planted()); err != nil {
		f.Fatal(err)
	}
	snap, err := s.Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	var buf bytes.Buffer
	if err := writeRows(&buf, snap.tx, snap.c); err != nil {
		f.Fatal(err)
	}
	snap.Release()
	s.Close()
	f.Add(buf.Bytes())
	f.Add([]byte{stepEnter, 0, 0, 0, 4, 'm', 'e', 't', 'a', stepEnter, 0, 0, 0, 1, 'x', stepRow, 0, 0, 0, 0, 0, 0, 0, 0, stepEnd})
	f.Add([]byte{stepRow, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(t.TempDir(), "state")
		_ = build(path, Options{NoSync: true, Keys: keys}, func(b *builder) error { return b.steps(newSummed(bytes.NewReader(in))) })
	})
}

// readable are the tables whose keys name nothing that somebody said: numbers, times, hashes, signatures, public keys.
var readable = []tableID{tControl, tDatabase, tToken, tTokenUse, tNode, tLimit, tAudit, tStats, tMemory, tVector, tVectorOdd, tEmbedding, tCreated, tDue, tRevision, tEvent, tPast,
	tMind, tFeedback, tOperator, tIdentity, tGrant, tGrantOrder, tGrantRevoked}

// A new table is either in layouts or here: somebody has thought of what its keys tell.
func TestEveryTableIsThoughtOf(t *testing.T) {
	for id, name := range tableNames {
		_, sealed := layouts[id]
		if open := slices.Contains(readable, id); open == sealed {
			t.Errorf("table %s: sealed parts %v, known to have none %v", name, sealed, open)
		}
	}
}
