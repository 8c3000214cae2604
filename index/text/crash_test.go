package text

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

const (
	crashDir  = "CAIRN_TEXT_CRASH_DIR"
	crashPace = "CAIRN_TEXT_CRASH_PACE" // not empty: not as fast as it goes
)

// The announcements of the writing process, each followed by the number of a change.
const (
	stored = "stored" // this change and all earlier ones are on disk
	goesOn = "goesOn" // later changes than this are not made before the next announcement

	stride = 64
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

// change returns change i of the crash tests: it adds row i and, often, deletes an older one.
func change(i uint64) (Row, []uint32) {
	r := rand.New(rand.NewPCG(i, 0))
	row := Row{Row: uint32(i), Group: uint32(i % 4), Text: words(r, 1+r.IntN(30), 500)}
	if i > 5 && i%3 == 0 {
		return row, []uint32{uint32(r.Uint64N(i))}
	}
	return row, nil
}

func writeForever(dir string) {
	x, err := Open(Config{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i, said := uint64(1), uint64(0); ; i++ { // changes that are there already are ignored
		if i%stride == 1 || said == 0 {
			fmt.Println(goesOn, i+stride)
		}
		row, del := change(i)
		if err := errors.Join(x.Ready(context.Background()), x.Apply([]Row{row}, del)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if n := x.onDisk(); n != said {
			fmt.Println(stored, n)
			said = n
		}
		if os.Getenv(crashPace) != "" && i%10 == 0 {
			time.Sleep(time.Millisecond) // the pace of a busy log, so that a run covers many batches
		}
	}
}

// historyModel returns the model after change n.
func historyModel(n uint64) model {
	m := model{}
	for i := uint64(1); i <= n; i++ {
		row, del := change(i)
		m[row.Row] = row
		for _, d := range del {
			delete(m, d)
		}
	}
	return m
}

// replayAndCompare applies all changes again, some of which the index may have already, and compares with the model.
func replayAndCompare(t *testing.T, x *Index, to uint64) {
	t.Helper()
	for i := uint64(1); i <= to; i++ {
		row, del := change(i)
		apply(t, x, []Row{row}, del...)
	}
	m := historyModel(to)
	if got := x.Totals().Rows; got != uint64(len(m)) {
		t.Fatalf("got %d rows after replay to %d, want %d", got, to, len(m))
	}
	r := rand.New(rand.NewPCG(11, to))
	for range 2 {
		q := Query{Text: words(r, 3, 500), K: 30}
		sameHits(t, "after replay", find(t, x, q), m.search(q))
	}
}

func TestKill(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: a process that is killed reports no race")
	}
	dir := t.TempDir()
	var reached uint64
	for round := range 6 {
		reached = killWriter(t, dir, crashPace+"=1", 1+round%4, reached)
	}
}

// TestKillUnderBacklog kills the process while batches are written four at a time.
func TestKillUnderBacklog(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: a process that is killed reports no race")
	}
	for round := range 3 {
		killWriter(t, t.TempDir(), crashPace+"=", 1+round, 0)
	}
}

// killWriter kills a writing process after some announcements, and opens the files that remain: all changes announced
// as stored must be there. It then replays the changes that this process or an earlier one may have reached, and
// compares with the model. The index may be ahead of the announcements, because a batch omits rows that were deleted
// since.
func killWriter(t *testing.T, dir, pace string, announcements int, reached uint64) uint64 {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir, pace)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[string]uint64{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var what string
		var n uint64
		if _, err := fmt.Sscan(lines.Text(), &what, &n); err != nil {
			t.Fatal(err)
		}
		said[what] = n
		if what != stored {
			continue
		}
		if announcements--; announcements == 0 {
			// The kill may fall anywhere. What the process says until then is still read.
			time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { cmd.Process.Kill() })
		}
	}
	cmd.Wait()
	x, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	reached = max(reached, said[goesOn])
	if said[stored] == 0 {
		t.Fatalf("the process said %v", said)
	}
	checkStored(t, x, said[stored], reached)
	replayAndCompare(t, x, reached)
	return reached
}

// checkStored fails unless the index has all changes that were stored, and none beyond the last that may have been
// made.
func checkStored(t *testing.T, x *Index, stored, reached uint64) {
	t.Helper()
	rows, _ := x.Restored()
	alive := map[uint32]bool{}
	for _, r := range rows {
		alive[r.Row] = true
		if uint64(r.Row) > reached {
			t.Fatalf("row %d is on disk, and %d changes were made at most", r.Row, reached)
		}
	}
	deleted := map[uint32]bool{} // by changes that may have been made
	for i := uint64(1); i <= reached; i++ {
		_, del := change(i)
		for _, d := range del {
			deleted[d] = true
			if i <= stored && alive[d] {
				t.Fatalf("row %d is on disk; change %d of %d stored ones deleted it", d, i, stored)
			}
		}
	}
	for row := uint32(1); uint64(row) <= stored; row++ {
		if !alive[row] && !deleted[row] {
			t.Fatalf("row %d of %d stored ones is lost", row, stored)
		}
	}
}

func TestCloseDoesNotLose(t *testing.T) {
	dir := t.TempDir()
	for to := uint64(300); to <= 3000; to += 300 {
		x := openAt(t, dir)
		replayAndCompare(t, x, to)
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// storedIndex makes a directory with several segments.
func storedIndex(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ix")
	x := openAt(t, dir)
	for i := uint64(1); i <= 600; i++ {
		row, del := change(i)
		apply(t, x, []Row{row}, del...)
		if i%200 == 0 {
			settle(t, x)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// eachSegment damages every segment file in the same way, because only Bleve knows which of them are in use.
func eachSegment(dir string, harm func(name string) error) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.zap"))
	if err == nil && len(files) == 0 {
		err = errors.New("no segment files")
	}
	for _, name := range files {
		err = errors.Join(err, harm(name))
	}
	return err
}

func flipBit(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(name, b, 0o600)
}

func truncate(size int64) func(string) error {
	return func(name string) error { return os.Truncate(name, size) }
}

func TestDamageIsReported(t *testing.T) {
	damage := map[string]func(dir string) error{
		"segment truncated": func(dir string) error { return eachSegment(dir, truncate(1000)) },
		"segment emptied":   func(dir string) error { return eachSegment(dir, truncate(0)) },
		"segment deleted":   func(dir string) error { return eachSegment(dir, os.Remove) },
		"segment bit":       func(dir string) error { return eachSegment(dir, flipBit) },
		"root truncated":    func(dir string) error { return os.Truncate(filepath.Join(dir, "root.bolt"), 5000) },
		"root emptied":      func(dir string) error { return os.Truncate(filepath.Join(dir, "root.bolt"), 0) },
		"root deleted":      func(dir string) error { return os.Remove(filepath.Join(dir, "root.bolt")) },
		"root garbage": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "root.bolt"), []byte(strings.Repeat("nonsense", 4096)), 0o600)
		},
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			dir := storedIndex(t)
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Open(Config{Dir: dir})
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, want ErrCorrupt", err)
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			replayAndCompare(t, openAt(t, dir), 700)
		})
	}
}

func TestLocked(t *testing.T) {
	suite.Full(t)
	dir := t.TempDir()
	openAt(t, dir)
	if _, err := Open(Config{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v, want ErrLocked", err)
	}
}

// TestNoLeaks opens and closes an index many times and counts goroutines and files.
func TestNoLeaks(t *testing.T) {
	suite.Full(t)
	count := func() (int, int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("no /proc/self/fd here: %v", err)
		}
		return runtime.NumGoroutine(), len(fds)
	}
	dir := t.TempDir()
	cycle := func(n uint64) {
		x := openAt(t, filepath.Join(dir, fmt.Sprint(n%3)))
		row, _ := change(n)
		apply(t, x, []Row{row})
		if n%2 == 0 {
			settle(t, x)
		}
		find(t, x, Query{Text: "w1x w2x"})
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle(0)
	g0, f0 := count()
	for n := range uint64(50) {
		cycle(n + 1)
	}
	var g, f int
	if !suite.Within(suite.Patience, func() bool { g, f = count(); return g <= g0+2 && f <= f0+1 }) {
		t.Fatalf("got %d goroutines and %d files, had %d and %d", g, f, g0, f0)
	}
}
