package home

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog"
)

// StateDir is where the state lies, in a home.
const StateDir = "state"

// RefuseOld says what to do with a home whose state is a file, as versions before the first release kept it.
func RefuseOld(home string) error {
	old := filepath.Join(home, "state.db")
	if _, err := os.Lstat(old); err != nil {
		return nil
	}
	return fmt.Errorf("home %s: %w", home, oplog.Errorf(oplog.TooOld, "%s was written by a version before 1.0: run `cairn export` with that version, and `cairn import` with this one into an empty home", old))
}
