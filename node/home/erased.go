package home

import (
	"encoding/json"
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

// ReadErased is zero for a home in which nothing was erased.
func ReadErased(home string) (e Erased, err error) {
	raw, err := readIfThere(filepath.Join(home, erasedFile))
	if raw != nil {
		err = json.Unmarshal(raw, &e)
	}
	return e, err
}

// Write notes it in a home.
func (e Erased) Write(home string) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(home, erasedFile), b, 0o600)
}
