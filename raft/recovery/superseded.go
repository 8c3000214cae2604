package recovery

import (
	"errors"

	hraft "github.com/hashicorp/raft"
)

// A member that led without followers may have records that never counted. When it is brought up to date by a snapshot the library
// leaves them in the log, below the snapshot's end, and when it leads one day it sends them to a member that is behind, which
// takes them for the cluster's. So they go.

// DropSuperseded deletes what a log holds up to where a snapshot ends, unless the record there is the snapshot's last.
func DropSuperseded(logs hraft.LogStore, index, term uint64) error {
	first, err := logs.FirstIndex()
	if err != nil || first == 0 || first > index {
		return err
	}
	var l hraft.Log
	if err := logs.GetLog(index, &l); err == nil && l.Term == term || err != nil && !errors.Is(err, hraft.ErrLogNotFound) {
		return err
	}
	return logs.DeleteRange(first, index)
}
