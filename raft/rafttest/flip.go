package rafttest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// Outcomes of a flipped bit, as the reports name them. A test may add an outcome of its own.
const (
	Caught = "caught"                     // an error reports damage or names the file
	Healed = "healed"                     // caught, and the data is complete again
	Dead   = "in bytes that nothing read" // nothing changed
)

// Ends counts the outcomes of the bits that a test flipped, by kind of file.
type Ends map[string]map[string]int

// Add counts one bit's outcome.
func (e Ends) Add(kind, end string) {
	if e[kind] == nil {
		e[kind] = map[string]int{}
	}
	e[kind][end]++
}

// Report logs the counts and fails the test if no bit of a kind was caught, because then nothing was tested.
func (e Ends) Report(t testing.TB) {
	t.Helper()
	e.Log(t)
	for kind, ends := range e {
		if len(ends) == 1 && ends[Dead] > 0 {
			t.Errorf("%s: no flip was caught", kind)
		}
	}
}

// Log logs the counts.
func (e Ends) Log(t testing.TB) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(e)) {
		flips, said := 0, []string{}
		for _, end := range slices.Sorted(maps.Keys(e[kind])) {
			flips += e[kind][end]
			said = append(said, fmt.Sprint(e[kind][end], " ", end))
		}
		t.Logf("%s, %s: of %d bits %s", t.Name(), kind, flips, strings.Join(said, ", "))
	}
}

// Flip changes a bit at the end of each occurrence of a text in a file.
func Flip(t testing.TB, path, text string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := bytes.Index(raw, []byte(text))
	if at < 0 {
		t.Fatalf("%s does not hold %q", path, text)
	}
	for ; at >= 0; at = bytes.Index(raw, []byte(text)) {
		last := at + len(text) - 1
		raw[last] ^= 1
		if _, err := f.WriteAt(raw[last:last+1], int64(last)); err != nil {
			t.Fatal(err)
		}
	}
}

// FlipOne flips a random bit of a file and returns its position.
func FlipOne(t testing.TB, path string, rng *rand.Rand) (bit int) {
	t.Helper()
	return flipOf(t, path, func(raw []byte) int { return rng.IntN(len(raw) * 8) })
}

// FlipLive flips a random bit outside the long runs of zeros of a file that is mostly empty, and returns its
// position.
func FlipLive(t testing.TB, path string, rng *rand.Rand) (bit int) {
	t.Helper()
	return flipOf(t, path, func(raw []byte) int {
		var live []int
		for at := range raw {
			if !bytes.Equal(raw[at&^15:min(at&^15+16, len(raw))], make([]byte, min(16, len(raw)-at&^15))) {
				live = append(live, at)
			}
		}
		return live[rng.IntN(len(live))]*8 + rng.IntN(8)
	})
}

func flipOf(t testing.TB, path string, choose func(raw []byte) (bit int)) (bit int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bit = choose(raw)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// write in place: a process that has the file open must find all other bytes unchanged
	if _, err := f.WriteAt([]byte{raw[bit/8] ^ 1<<(bit%8)}, int64(bit/8)); err != nil {
		t.Fatal(err)
	}
	return bit
}

// FlipTables changes a bit in each block of rows of a state's tables. A process that has the tables open keeps the
// blocks that it has already read.
func FlipTables(t testing.TB, state string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(state, "*", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%s has no tables: %v", state, err)
	}
	for _, table := range tables {
		f, err := os.OpenFile(table, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		one := make([]byte, 1)
		for at := min(600, info.Size()/4); at < info.Size()*3/4; at += 1000 {
			if _, err := f.ReadAt(one, at); err != nil {
				t.Fatal(err)
			}
			one[0] ^= 4
			if _, err := f.WriteAt(one, at); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Flips returns the number of bits that a test flips in each kind of file: few in the full suite, a tenth of that in
// the default one.
func Flips(few int) int { return suite.Count((few+9)/10, few, 1000) }
