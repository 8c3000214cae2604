package home

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A purge deletes rows, and files still have their bytes: the log and the snapshots, which a member that joins would
// be sent, tables of the state that were not merged since, and files of the index. A node cuts log and snapshots as
// soon as it has applied the purge, and rewrites the other files while it runs.

// erasedFile names the file in a home that records how far its node has come with erasing.
const erasedFile = "erased"

// Erased is the progress of a node with erasing purged bytes.
type Erased struct {
	Cut       oplog.Index `json:"cut"`       // log and snapshots are free of rows that were purged up to this record
	Rewritten oplog.Index `json:"rewritten"` // the files of state and index are, too
}

// ReadErased returns the progress, or zero if nothing was erased or the note cannot be read. With zero, everything is
// erased again. A number that is too large would leave a purge unfinished.
func ReadErased(home string) (e Erased, err error) {
	path := filepath.Join(home, erasedFile)
	text, whole, err := readNote(path)
	if text == nil {
		return e, err
	}
	if !whole {
		return e, fmt.Errorf("%s differs from what was written", path)
	}
	err = json.Unmarshal(text, &e)
	return e, err
}

// Write stores the progress in a home.
func (e Erased) Write(home string) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(home, erasedFile), syncwriter.Summed(append(b, '\n')), 0o600)
}
