package state

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// markedHistory returns a history in which every text that a client can set contains a mark.
func markedHistory() []oplog.Record {
	meta := []byte(`{"note":"plantedmeta"}`)
	text := "plantednew"
	at := oplog.Time(1_700_000_000_000_000)
	return []oplog.Record{
		record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}),
		record(2, []oplog.Entry{
			{DB: 1, Key: "plantedkey", Digest: []byte("d"),
				Ops: []oplog.Op{&oplog.SessionStart{ID: "plantedsession", Namespace: "plantedns", Client: "plantedclient", At: at}}},
			{DB: 1, Key: "plantedkey2", Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "plantedtext",
				Namespace: "plantedns", Created: at, Metadata: meta, Session: "plantedsession"},
				Entities: []oplog.Mention{{Name: "plantedentity"}}, Vector: oplog.MakeVector([]float32{1, 2})}}},
			{DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "plantedrid", Text: "plantedold",
				Namespace: "plantedns", Created: at}}}},
			{DB: 1, Ops: []oplog.Op{&oplog.Correct{RID: "plantedrid", Text: &text, At: at}}},
			{DB: 1, Ops: []oplog.Op{&oplog.Relate{ID: "plantededge", Src: "plantedsrc", Dst: "planteddst",
				Type: "plantedtype", Weight: 1, At: at}}},
			{DB: 1, Ops: []oplog.Op{&oplog.Claim{ID: oplog.NewID(), Namespace: "plantedns", Src: "plantedclaimer",
				Dst: "plantedclaimed", Type: "plantedrel", Polarity: 1, Extractor: "plantedextractor", At: at}}},
			{DB: 1, Ops: []oplog.Op{&oplog.Alias{Namespace: "plantedns", Alias: "plantedalias", Canonical: "plantedentity", At: at}}},
			{DB: 1, Ops: []oplog.Op{&oplog.Event{Workspace: "plantedws", Session: "plantedses", Tool: "plantedtool",
				Payload: []byte(`{"x":"plantedpayload"}`), Hash: []byte("plantedhash")}}},
			{Ops: []oplog.Op{&oplog.CreateDB{Name: "planteddb", At: at}}},
		}),
	}
}

func TestNothingReadableInAnEncryptedState(t *testing.T) {
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	dir := t.TempDir()
	a, b := mustOpen(t, filepath.Join(dir, "plain")), mustOpenSealed(t, filepath.Join(dir, "sealed"), keys)
	defer a.Close()
	records := markedHistory()
	for _, s := range []*State{a, b} {
		out, err := s.Apply(records)
		must(t, err)
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
	c, d := mustOpenSealed(t, filepath.Join(dir, "from-plain"), keys), mustOpen(t, filepath.Join(dir, "from-sealed"))
	for s, from := range map[*State]*State{c: a, d: b} {
		must(t, s.Restore(snapshotOf(t, from), nil))
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
		if _, y := s.Sum(); x != y {
			t.Errorf("%s hashes to %s, not %s", s.dir, y, x)
		}
	}
	for _, s := range []*State{b, c, d} {
		must(t, s.Close())
	}
	count := func(name string) (n int) {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			n += bytes.Count(raw, []byte("planted"))
			return err
		})
		must(t, err)
		return n
	}
	if n := count("sealed") + count("from-plain"); n != 0 {
		t.Errorf("%d marks in encrypted files", n)
	}
	if n := count("from-sealed"); n == 0 {
		t.Error("no mark in a plain file: what is looked for is not there at all")
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
	}{{"plain", keys, seal.ErrPlain}, {"sealed", nil, seal.ErrSealed},
		{"sealed", seal.Ephemeral([]seal.Master{seal.NewMaster()}), seal.ErrKey}} {
		_, err := Open(filepath.Join(dir, c.file), Options{Keys: c.keys})
		if !errors.Is(err, c.want) || IsCorrupt(err) {
			t.Errorf("%s: %v, want %v", c.file, err, c.want)
		}
	}
}

// FuzzRows: an invalid stream of rows is rejected without a panic.
func FuzzRows(f *testing.F) {
	s := mustOpen(f, filepath.Join(f.TempDir(), "state"))
	mustApply(f, s, markedHistory()...)
	whole := snapshotOf(f, s)
	s.Close()
	head := len("CAIRNSNP") + 1
	z, err := zstd.NewReader(bytes.NewReader(whole.Bytes()[head:]))
	must(f, err)
	defer z.Close()
	rows, err := io.ReadAll(z)
	must(f, err)
	f.Add(rows)
	f.Add(append(be64(100), 5, 0, 0, 0, 0, 1, 0, 5, 0, 0, 0, 0, 1, 0)) // the same key twice
	f.Add(append(be64(100), 0xff, 0xff, 0xff, 0xff, 0x0f))
	f.Fuzz(func(t *testing.T, in []byte) {
		var stream bytes.Buffer
		stream.Write(whole.Bytes()[:head])
		w, err := zstd.NewWriter(&stream)
		must(t, err)
		if _, err := w.Write(in); err != nil {
			t.Fatal(err)
		}
		must(t, w.Close())
		err = build(filepath.Join(t.TempDir(), "state"), Options{NoSync: true},
			func(add func(k, v []byte) error) error { return receive(&stream, nil, add) })
		if err != nil && !errors.Is(err, snapshot.ErrUnreadable) {
			t.Errorf("it is refused as %v", err)
		}
	})
}
