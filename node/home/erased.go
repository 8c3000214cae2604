package home

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A purge deletes rows, but files still contain their bytes: the log and the snapshots, which a joining member would
// receive, tables of the state that have not been compacted since, and files of the index. A node truncates log and
// snapshots as soon as it has applied the purge, and rewrites the other files while it runs.

// erasedFile is the name of the file that records how far a node has erased purged bytes.
const erasedFile = "erased"

// Erased is a node's progress in erasing purged bytes.
type Erased struct {
	Cut       oplog.Index `json:"cut"`       // log and snapshots contain no rows purged up to this record
	Rewritten oplog.Index `json:"rewritten"` // nor do the files of state and index
}

// ReadErased returns the progress, or zero if nothing was erased or the note is damaged. From zero, everything is
// erased again; a number that is too large would leave a purge unfinished.
func ReadErased(home string) (e Erased, err error) {
	path := filepath.Join(home, erasedFile)
	text, intact, err := readNote(path)
	if text == nil {
		return e, err
	}
	if !intact {
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
	return syncwriter.Replace(filepath.Join(home, erasedFile), syncwriter.AppendSum(append(b, '\n')), 0o600)
}
