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

// voting is a log on the machine's disk with a file of votes.
type voting struct {
	t    *testing.T
	dir  string
	o    Options
	log  *Store
	file *Votes
}

func newVoting(t *testing.T, keys *seal.Ring) *voting {
	v := &voting{t: t, dir: t.TempDir(), o: Options{Keys: keys, FS: OS{NoSync: true}}}
	must(t, v.open())
	return v
}

// used stores a record: a log that never had one may be without votes.
func (v *voting) used() {
	v.t.Helper()
	must(v.t, v.log.StoreLog(&hraft.Log{Index: 1, Term: 1}))
}

func (v *voting) open() (err error) {
	if v.log, err = Open(v.dir, v.o); err != nil {
		return err
	}
	if v.file, err = OpenVotes(v.log, true); err != nil {
		return errors.Join(err, v.log.Close())
	}
	return nil
}

func (v *voting) close() {
	v.t.Helper()
	if err := errors.Join(v.file.Close(), v.log.Close()); err != nil {
		v.t.Fatal(err)
	}
}

// vote is a member's election: it stores as the library does.
func (v *voting) vote(term uint64) {
	v.t.Helper()
	must(v.t, v.try(term))
}

func (v *voting) try(term uint64) error {
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

// has checks that every stored value is of this term.
func (v *voting) has(want uint64) {
	v.t.Helper()
	must(v.t, v.reads(want))
}

// reads reads all values. Each is of one of these terms, or cannot be read.
func (v *voting) reads(terms ...uint64) error {
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

// TestVotesStay: over a close, a kill after each, another key, and in another member's file.
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
				killed.has(term)
				killed.close()
				if term%3 == 0 {
					v.close()
					must(t, v.open())
				}
				v.has(term)
				if keys != nil {
					must(t, errors.Join(keys.Rotate(), v.file.Reseal()))
				}
				v.has(term)
			}
			other := newVoting(t, newRing())
			must(t, other.file.Copy(v.file))
			other.has(8)
			other.close()
			v.close()
			if term := VotedTerm(v.dir, keys); term != 8 {
				t.Errorf("term %d of a file that is closed", term)
			}
		})
	}
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
			v.used()
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
					v.has(7)
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

// flipVotes changes a bit of a file of votes, every other time one that is not in its empty half.
func flipVotes(t *testing.T, path string, i int, rng *rand.Rand) (bit int) {
	if i%2 == 0 {
		return rafttest.FlipLive(t, path, rng)
	}
	return rafttest.FlipOne(t, path, rng)
}

// TestVotesThatAreGone: opening the votes reports damage when their file is gone or cut short, or when meta next to
// it is gone.
func TestVotesThatAreGone(t *testing.T) {
	t.Parallel()
	gone := func(v *voting, name string) error {
		v.close()
		must(t, os.Remove(filepath.Join(v.dir, name)))
		return v.open()
	}
	v := newVoting(t, nil)
	if err := gone(v, votesFile); err != nil { // no record ever came
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
		v.used()
		v.close()
		must(t, os.Truncate(filepath.Join(v.dir, votesFile), int64(n)<<10))
		if err := v.open(); !errors.Is(err, ErrDamaged) && n < 8 {
			t.Errorf("cut to %d KiB: %v", n, err)
		} else if err == nil {
			v.close()
		}
	}
}
