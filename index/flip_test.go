package index_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// summed lists the files in which a checksum covers every bit.
var summed = regexp.MustCompile(`^(checkpoint|rows|[.]zap)$`)

// rootFile is Bleve's list of segments.
const rootFile = "root.bolt"

// A fixture holds a home with a closed index of 401 records.
type fixture struct {
	t          *testing.T
	home       string
	cfg        index.Config
	records    []oplog.Record
	more       []oplog.Record // later records, which the home lacks
	qs         []index.Query
	want, then [][]line            // answers of the home, and those after more
	files      map[string][]string // by kind, below its index
}

func newFixture(t *testing.T, keys *seal.Ring) *fixture {
	t.Helper()
	all := history(t, 420).records
	w := &fixture{t: t, home: t.TempDir(), cfg: index.Config{Keys: keys}, records: all[:401], more: all[401:],
		qs: questions()[:12], files: map[string][]string{}}
	r, _ := w.again()
	r.openIndex()
	r.apply(w.records, len(w.records)) // in one batch, so that every segment is in use and a flipped bit matters
	w.want = r.answers(w.qs)
	r.settle()
	r.close()
	w.home = r.home
	dir := filepath.Join(w.home, "index")
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		kind, _, _ := strings.Cut(strings.TrimLeft(filepath.Base(name), "0123456789"), "-")
		w.files[kind] = append(w.files[kind], name)
		return err
	}))
	for _, kind := range []string{"checkpoint", "identity.json", "rows", ".zap", rootFile, "cairn.format"} {
		if len(w.files[kind]) == 0 {
			t.Errorf("no %s among the files %v", kind, w.files)
		}
	}
	r, _ = w.again()
	r.openIndex()
	r.apply(w.more, len(w.more))
	w.then = r.answers(w.qs)
	r.close()
	return w
}

// again returns a copy of the home with its state open, and the log that its index will write.
func (w *fixture) again() (r *replica, log *strings.Builder) {
	w.t.Helper()
	dir, err := os.MkdirTemp(w.t.TempDir(), "home") // end removes it: there are thousands
	must(w.t, err)
	r, log = &replica{t: w.t, home: dir, cfg: w.cfg}, &strings.Builder{}
	r.cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	must(w.t, os.CopyFS(r.home, os.DirFS(w.home)))
	r.state, err = statetest.Open(filepath.Join(r.home, "state"), state.Options{NoSync: true}, statetest.NewLog(w.records...))
	must(w.t, err)
	return r, log
}

// end closes a replica and removes its home.
func (r *replica) end() {
	r.close()
	must(r.t, os.RemoveAll(r.home))
}

// flip changes a bit of a file of a kind.
func (w *fixture) flip(r *replica, kind string, rng *rand.Rand) (path, what string) {
	w.t.Helper()
	flip := rafttest.FlipOne
	if kind == rootFile { // most of it is empty
		flip = rafttest.FlipLive
	}
	name := w.files[kind][rng.IntN(len(w.files[kind]))]
	path = filepath.Join(r.dir(), name)
	return path, fmt.Sprintf("bit %d of %s", flip(w.t, path, rng), name)
}

// each calls try for files of each kind but one, plain and sealed, with few flips of each.
func each(t *testing.T, few int, but string, try func(t *testing.T, w *fixture, kind string, rng *rand.Rand) (end string)) {
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		w := newFixture(t, keys)
		for _, kind := range slices.Sorted(maps.Keys(w.files)) {
			if kind == but {
				continue
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.t = t
				rng, ends := rand.New(rand.NewPCG(1, uint64(len(kind)))), rafttest.Ends{}
				for range rafttest.Flips(few) {
					ends.Add(kind, try(t, &w, kind, rng))
				}
				ends.Log(t)
			})
		}
	}
}

// TestFlippedBits flips single bits of each file of a closed index, one at a time: the index opens, names the file
// that it cannot use, and answers words, vectors and filters as before.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	each(t, 2, "", func(t *testing.T, w *fixture, kind string, rng *rand.Rand) string {
		r, log := w.again()
		defer r.end()
		path, what := w.flip(r, kind, rng)
		r.openIndex()
		sameAnswers(t, what, w.qs, r.answers(w.qs), w.want)
		found := r.index.Damaged().List()
		if len(found) > 1 || len(found) == 1 && (found[0].Path != path && kind != rootFile || !found[0].Healed) ||
			len(found) == 0 && summed.MatchString(kind) {
			t.Errorf("%s: it names %+v", what, found)
		}
		if log.Len() > 0 {
			return rafttest.Healed
		}
		if summed.MatchString(kind) {
			t.Errorf("%s: nothing is said of it", what)
		}
		return rafttest.Dead
	})
}

// TestFlippedBitsInUse flips single bits of the files of an open index. Verify finds those in segments, and the index
// is rebuilt. All other files are read at the next start, except for the list of segments (index/text,
// TestFlippedListOfSegmentsInUse). Afterwards the index answers like one without damage, also about later entries.
func TestFlippedBitsInUse(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	each(t, 1, rootFile, func(t *testing.T, w *fixture, kind string, rng *rand.Rand) (end string) {
		r, log := w.again()
		defer r.end()
		r.openIndex()
		r.answers(w.qs)
		_, what := w.flip(r, kind, rng)
		for _, q := range w.qs { // an answer may lack a memory now, or be rejected
			if _, _, err := r.index.Search(t.Context(), 1, q); err != nil && !errors.Is(err, text.ErrCorrupt) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		must(t, r.index.Verify(t.Context(), 0))
		found := r.index.Damaged().Times(damage.Index) > 0
		if found != strings.Contains(log.String(), "database=1") || kind == ".zap" && !found {
			t.Errorf("%s: found %v, and it says %q", what, found, log)
		}
		sameAnswers(t, what, w.qs, r.answers(w.qs), w.want)
		r.apply(w.more, len(w.more))
		sameAnswers(t, what+", and more", w.qs, r.answers(w.qs), w.then)
		log.Reset()
		r.reopen()
		sameAnswers(t, what+", and a restart", w.qs, r.answers(w.qs), w.then)
		switch {
		case found:
			return rafttest.Healed
		case log.Len() > 0:
			return "healed at the next start"
		}
		return rafttest.Dead
	})
}

// overwrite changes files of words in place, while the index reads them.
func (r *replica) overwrite(name string, change func([]byte)) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir(), "*", "text", name))
	if err != nil || len(files) == 0 {
		r.t.Fatal(files, err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		must(r.t, err)
		change(b)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(r.t, err)
		_, err = f.WriteAt(b, 0)
		must(r.t, errors.Join(err, f.Close()))
	}
}

// TestADamagedListIsHealedByTheNextEntry: Bleve meets damage in the list of segments before it writes it. The next
// entry rebuilds the index.
func TestADamagedListIsHealedByTheNextEntry(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	w := newFixture(t, nil)
	r, _ := w.again()
	defer r.close()
	r.openIndex()
	next, times := 0, func() int64 { return r.index.Damaged().Times(damage.Index) }
	for ; times() == 0; next++ { // a write that was running may repair the list
		if next == len(w.more) {
			t.Fatal("the damage is not met")
		}
		if r.index.Lag().Err == nil {
			r.overwrite(rootFile, func(b []byte) { clear(b) })
		}
		r.apply(w.more[next:next+1], 1)
		suite.Eventually(t, "all to be on the disk", func() bool { lag := r.index.Lag(); return lag.Err != nil || lag.Unsynced == 0 })
	}
	if found := r.index.Damaged().List(); len(found) != 1 || filepath.Base(found[0].Path) != rootFile || !found[0].Healed {
		t.Errorf("it names %+v", found)
	}
	r.apply(w.more[next:], 100)
	sameAnswers(t, "healed, and more", w.qs, r.answers(w.qs), w.then)
	r.settle()
	must(t, r.index.Verify(t.Context(), 0))
	r.reopen()
	sameAnswers(t, "healed, and a restart", w.qs, r.answers(w.qs), w.then)
	if times() != 0 {
		t.Error("the next start finds damage again")
	}
}

// TestDamageUnderAnOpenIndexIsHealed: bits of the segments change while they are searched. Verify names the database
// and rebuilds its files, and the index answers as before.
func TestDamageUnderAnOpenIndexIsHealed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	w := newFixture(t, nil)
	r, log := w.again()
	defer r.close()
	r.openIndex()
	verify := func(want int64) {
		t.Helper()
		before := r.index.Damaged().Times(damage.Index)
		if err := r.index.Verify(t.Context(), 0); err != nil || r.index.Damaged().Times(damage.Index)-before != want {
			t.Fatalf("%d databases are damaged, %v; want %d", r.index.Damaged().Times(damage.Index)-before, err, want)
		}
	}
	named := func(file string) {
		t.Helper()
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), file) {
			t.Errorf("it says %q", log)
		}
		log.Reset()
	}
	verify(0)
	r.overwrite("*.zap", func(b []byte) { b[len(b)/3] ^= 1 })
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.index.Verify(cancelled, 0); !errors.Is(err, context.Canceled) || !r.index.Damaged().Healed() {
		t.Errorf("cancelled: %v", err)
	}
	verify(1)
	found := r.index.Damaged().List()
	if len(found) != 1 || found[0].Database != "default" || found[0].Times != 1 || !found[0].Healed ||
		filepath.Ext(found[0].Path) != ".zap" || filepath.Dir(filepath.Dir(filepath.Dir(found[0].Path))) != r.dir() {
		t.Errorf("it names %+v", found)
	}
	named(".zap")
	sameAnswers(t, "a segment is healed", w.qs, r.answers(w.qs), w.want)
	verify(0)
	r.apply(w.more, 100)
	sameAnswers(t, "healed, and more", w.qs, r.answers(w.qs), w.then)
	r.reopen()
	sameAnswers(t, "healed, and a restart", w.qs, r.answers(w.qs), w.then)
}
