package home

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog"
)

// A purge erases rows. What held them outlives it: the log and the snapshots, which a member that joins would be sent, tables of the state that
// were not merged since, and files of the index. A node cuts away the first as soon as it has applied the purge, and writes the others anew
// while it runs.

// erasedFile notes, in the home, how far a node has come with that.
const erasedFile = "erased"

// Erased is how far a node has come with that.
type Erased struct {
	Cut       oplog.Index `json:"cut"`       // neither log nor snapshots hold what was erased up to here
	Rewritten oplog.Index `json:"rewritten"` // nor does any file of the state or the index
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
