package home

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A purge deletes rows, and files still have their bytes: the log and the snapshots, which a member that joins would be sent, tables of the
// state that were not merged since, and files of the index. A node cuts log and snapshots as soon as it has applied the purge, and rewrites
// the other files while it runs.

// erasedFile is where a home notes how far its node has come with that.
const erasedFile = "erased"

// Erased is the progress of a node.
type Erased struct {
	Cut       oplog.Index `json:"cut"`       // log and snapshots are free of rows that were purged up to this record
	Rewritten oplog.Index `json:"rewritten"` // the files of state and index are, too
}

// summed is Erased as it is written: with a larger number a purge would not be finished.
type summed struct {
	Erased
	Sum uint32 `json:"sum"`
}

func (e Erased) sum() uint32 {
	return crc32.ChecksumIEEE(fmt.Append(nil, uint64(e.Cut), " ", uint64(e.Rewritten)))
}

// ReadErased is zero for a home in which nothing was erased, and with an error: then all of it is done again.
func ReadErased(home string) (Erased, error) {
	path := filepath.Join(home, erasedFile)
	raw, err := readIfThere(path)
	if raw == nil {
		return Erased{}, err
	}
	var e summed
	if err := json.Unmarshal(raw, &e); err != nil || e.Sum != e.sum() {
		return Erased{}, fmt.Errorf("%s differs from what was written", path)
	}
	return e.Erased, nil
}

// Write notes it in a home.
func (e Erased) Write(home string) error {
	b, err := json.Marshal(summed{e, e.sum()})
	if err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(home, erasedFile), b, 0o600)
}
