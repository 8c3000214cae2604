package home

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
)

// A purge erases rows. What held them outlives it twice over: the log and the snapshots, which a member that joins would be sent, and
// the free pages of files and the parts of the index that were not merged since. The first a node cuts away as soon as it
// has applied the purge; the second it leaves behind by writing its files anew when it starts the next time.

// erasedFile notes, in the home, how far a node has come with that.
const erasedFile = "erased"

// Erased is how far a node has come with that.
type Erased struct {
	Cut       oplog.Index `json:"cut"`       // neither log nor snapshots hold what was erased up to here
	Rewritten oplog.Index `json:"rewritten"` // nor does any page
}

func ReadErased(home string) (e Erased, err error) {
	raw, err := os.ReadFile(filepath.Join(home, erasedFile))
	if errors.Is(err, os.ErrNotExist) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	return e, err
}

// Write puts it down.
func (e Erased) Write(home string) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(home, erasedFile), b, 0o600)
}

// eraseWork is where the new files of a home are made, as those of a new key are.
const eraseWork = ".erase"

// RewriteErased writes the files of a home anew, without the pages that held what was erased, before the node opens them. A node always
// starts: where this fails, the files stay as they are, and the next start tries again.
func RewriteErased(cfg Config, keys *seal.Ring) {
	home := cfg.Dir
	e, err := ReadErased(home)
	work := filepath.Join(home, eraseWork)
	if _, whole := os.Stat(filepath.Join(work, rekeyDone)); whole == nil { // cut short: some of it may be in place
		err = errors.Join(err, placeFiles(home, work), os.RemoveAll(work))
	}
	if err == nil && e.Rewritten < e.Cut {
		start := time.Now()
		err = convert(cfg, work, func() (from, to *seal.Ring, err error) { return keys, keys, nil })
		if err == nil {
			err = errors.Join(placeFiles(home, work), os.RemoveAll(work))
		}
		if err == nil {
			e.Rewritten = e.Cut
			err = e.Write(home)
			cfg.Logger.Info("files written anew without what was purged", "upto", e.Cut, "took", time.Since(start))
		}
	}
	if err != nil {
		cfg.Logger.Error("files that hold what was purged are not written anew yet", "err", err)
		if _, whole := os.Stat(filepath.Join(work, rekeyDone)); whole != nil {
			_ = os.RemoveAll(work) // half of a copy is of no use
		}
	}
	for _, aside := range []string{"*.corrupt-*", filepath.Join("raft", "*.corrupt-*")} {
		if left, _ := filepath.Glob(filepath.Join(home, aside)); len(left) > 0 && e.Cut > 0 {
			cfg.Logger.Warn("files that were moved aside may hold what was purged: remove them when they are of no use", "files", left)
		}
	}
}
