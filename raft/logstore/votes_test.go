package logstore

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/rafttest"
)

// votesOnDisk is a log on the machine's disk with a file of votes.
type votesOnDisk struct {
	t    *testing.T
	dir  string
	o    Options
	log  *Store
	file *Votes
}

func newVoting(t *testing.T, keys *seal.Ring) *votesOnDisk {
	v := &votesOnDisk{t: t, dir: t.TempDir(), o: Options{Keys: keys, FS: OS{NoSync: true}}}
	must(t, v.open())
	return v
}

// storeRecord stores a record: only a log that never had one may have no votes.
func (v *votesOnDisk) storeRecord() {
	v.t.Helper()
	must(v.t, v.log.StoreLog(&hraft.Log{Index: 1, Term: 1}))
}

func (v *votesOnDisk) open() (err error) {
	if v.log, err = Open(v.dir, v.o); err != nil {
		return err
	}
	if v.file, err = OpenVotes(v.log, true); err != nil {
		return errors.Join(err, v.log.Close())
	}
	return nil
}

func (v *votesOnDisk) close() {
	v.t.Helper()
	if err := errors.Join(v.file.Close(), v.log.Close()); err != nil {
		v.t.Fatal(err)
	}
}

// vote stores a term and a vote in the order of the library.
func (v *votesOnDisk) vote(term uint64) {
	v.t.Helper()
	must(v.t, v.try(term))
}

func (v *votesOnDisk) try(term uint64) error {
	err := v.file.SetUint64([]byte(KeyTerm), term)
	if err == nil {
		err = v.file.SetUint64([]byte(keyVoteTerm), term)
	}
	if err == nil {
		err = v.file.Set([]byte(keyVote), candidate(term))
	}
	return err
}

func candidate(term uint64) []byte { return binary.BigEndian.AppendUint64([]byte("node "), term) }

// requireTerm fails the test unless every stored value is of this term.
func (v *votesOnDisk) requireTerm(want uint64) {
	v.t.Helper()
	must(v.t, v.checkTerms(want))
}

// checkTerms returns an error if a readable value is not of one of these terms.
func (v *votesOnDisk) checkTerms(terms ...uint64) error {
	v.t.Helper()
	term, err := v.file.GetUint64([]byte(KeyTerm))
	voted, err2 := v.file.GetUint64([]byte(keyVoteTerm))
	who, err3 := v.file.Get([]byte(keyVote))
	of := func(term uint64) bool { return bytes.Equal(who, candidate(term)) }
	if err == nil && !slices.Contains(terms, term) || err2 == nil && !slices.Contains(terms, voted) ||
		err3 == nil && !slices.ContainsFunc(terms, of) {
		v.t.Fatalf("term %d, a vote in %d for %q, not %d: %v", term, voted, who, terms, errors.Join(err, err2, err3))
	}
	return errors.Join(err, err2, err3)
}

// TestVotesStay: votes survive a close, kills, a change of keys, and a copy into another member's file.
func TestVotesStay(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVoting(t, keys)
			for term := uint64(1); term < 9; term++ {
				v.vote(term)
				raw, err := os.ReadFile(filepath.Join(v.dir, votesFile))
				must(t, err)
				if plain := bytes.Contains(raw, []byte(base64.StdEncoding.EncodeToString(candidate(term)))); plain != (keys == nil) {
					t.Errorf("the vote can be read in the file: %v", plain)
				}
				killed := newVoting(t, keys)
				killed.close()
				must(t, errors.Join(os.WriteFile(filepath.Join(killed.dir, votesFile), raw, 0o600), killed.open()))
				killed.requireTerm(term)
				killed.close()
				if term%3 == 0 {
					v.close()
					must(t, v.open())
				}
				v.requireTerm(term)
				if keys != nil {
					must(t, errors.Join(keys.Rotate(), v.file.Reseal()))
				}
				v.requireTerm(term)
			}
			other := newVoting(t, newRing())
			must(t, other.file.Copy(v.file))
			other.requireTerm(8)
			other.close()
			v.close()
			if term := VotedTerm(v.dir, keys); term != 8 {
				t.Errorf("term %d of a file that is closed", term)
			}
		})
	}
}

// TestVotesOnAFullDisk: a start reads the votes of a full disk. A vote without space changes nothing, and a later one
// with space is stored.
func TestVotesOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	rafttest.SmallDisk(t, disk, 4)
	v := &votesOnDisk{t: t, dir: filepath.Join(disk, "log"), o: Options{SegmentBytes: 1}}
	must(t, v.open())
	v.storeRecord()
	v.vote(7)
	v.close()
	release := rafttest.Fill(t, disk)
	must(t, v.open())
	for range 2 {
		if err := v.try(8); !LacksSpace(err) {
			t.Errorf("a vote without space: %v", err)
		}
		v.requireTerm(7)
		if term := VotedTerm(v.dir, nil); term != 7 {
			t.Errorf("the file is of term %d", term)
		}
	}
	release()
	v.vote(8)
	v.close()
	must(t, v.open())
	v.requireTerm(8)
	v.close()
}

// TestFlippedBitsOfVotes: when any bit in the file of a stopped member is flipped, the next start reads its term and
// vote unchanged, or reports the file as damaged.
func TestFlippedBitsOfVotes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVoting(t, keys)
			v.storeRecord()
			for term := uint64(1); term <= 7; term++ {
				v.vote(term)
			}
			v.close()
			path := filepath.Join(v.dir, votesFile)
			whole, err := os.ReadFile(path)
			must(t, err)
			rng, ends := rand.New(rand.NewPCG(5, 6)), rafttest.Ends{}
			for i := range rafttest.Flips(300) {
				must(t, errors.Join(os.Remove(path), os.WriteFile(path, whole, 0o600)))
				bit := flipVotes(t, path, i, rng)
				switch err := v.open(); {
				case err == nil:
					v.requireTerm(7)
					v.close()
					ends.Add("votes", rafttest.Dead)
				case errors.Is(err, ErrDamaged):
					ends.Add("votes", rafttest.Caught)
				default:
					t.Fatalf("bit %d: %v", bit, err)
				}
			}
			ends.Report(t)
		})
	}
}

// TestFlippedHeadsOfVotes checks the same as TestFlippedBitsOfVotes for every bit in the head of each page. A head
// states how many pages follow, up to four billion. Pages beyond the end of the file are neither listed nor read.
func TestFlippedHeadsOfVotes(t *testing.T) {
	t.Parallel()
	v := newVoting(t, nil)
	v.storeRecord()
	v.vote(7)
	v.close()
	path := filepath.Join(v.dir, votesFile)
	whole, err := os.ReadFile(path)
	must(t, err)
	page, head := os.Getpagesize(), 16
	for bit := range len(whole) / page * head * 8 {
		flipped := bytes.Clone(whole)
		flipped[bit/(head*8)*page+bit/8%head] ^= 1 << (bit % 8)
		must(t, errors.Join(os.Remove(path), os.WriteFile(path, flipped, 0o600)))
		if err := v.open(); err == nil {
			v.requireTerm(7)
			v.close()
		} else if !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d of page %d: %v", bit%(head*8), bit/(head*8), err)
		}
	}
}

// flipVotes changes a bit of a file of votes. Every second call avoids the empty half of the file.
func flipVotes(t *testing.T, path string, i int, rng *rand.Rand) (bit int) {
	if i%2 == 0 {
		return rafttest.FlipLive(t, path, rng)
	}
	return rafttest.FlipOne(t, path, rng)
}

// TestVotesThatAreGone: opening the votes reports damage if their file is missing or truncated, or if meta next to it
// is missing.
func TestVotesThatAreGone(t *testing.T) {
	t.Parallel()
	gone := func(v *votesOnDisk, name string) error {
		v.close()
		must(t, os.Remove(filepath.Join(v.dir, name)))
		return v.open()
	}
	v := newVoting(t, nil)
	if err := gone(v, votesFile); err != nil { // the log never had a record
		t.Fatal(err)
	}
	v.vote(3)
	must(t, v.log.StoreLog(&hraft.Log{Index: 1, Term: 3}))
	must(t, v.log.DeleteRange(1, 1))
	if err := gone(v, votesFile); !errors.Is(err, ErrDamaged) {
		t.Errorf("no votes: %v", err)
	}
	v = newVoting(t, nil)
	v.vote(3)
	if err := gone(v, metaFile); !errors.Is(err, ErrDamaged) {
		t.Errorf("votes and no meta: %v", err)
	}
	for n := range 20 {
		v = newVoting(t, nil)
		v.storeRecord()
		v.close()
		must(t, os.Truncate(filepath.Join(v.dir, votesFile), int64(n)<<10))
		if err := v.open(); !errors.Is(err, ErrDamaged) && n < 8 {
			t.Errorf("cut to %d KiB: %v", n, err)
		} else if err == nil {
			v.close()
		}
	}
}
