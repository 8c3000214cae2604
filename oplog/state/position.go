package state

import "github.com/cairndb/cairn/oplog"

// A Point is a state's place in the log, and what it hashes to there.
type Point struct {
	Index oplog.Index `msgpack:"i"`
	Term  oplog.Index `msgpack:"t"`
	Sum   Sum         `msgpack:"s"`
}

// position is the position of the state in the log. It is stored with the effects of the records it counts, so they are
// applied exactly once.
type position struct {
	Point
	Last    oplog.HLC   `msgpack:"l"` // of the newest entry
	Ops     uint64      `msgpack:"o"` // operations in the retained log
	First   oplog.Index `msgpack:"f"` // no record before it is retained
	Oldest  oplog.HLC   `msgpack:"h"` // of the record at First; zero while it was not requested
	Trimmed oplog.HLC   `msgpack:"r"` // of the newest entry that has left the log's window; zero for none
}

// The keys of tMeta.
var (
	keyPosition = []byte("mark")
	keyFormat   = []byte("format")
)

// stateFormat is the version of the rows' format. A node rejects a state of another version.
const stateFormat = 7

// position reads the mark; a new store has the zero one.
func (t *txn) position() position { return load[position](t, tMeta, 0, keyPosition) }

func (t *txn) putPosition(m position) {
	t.set(tMeta, 0, keyFormat, be64(stateFormat))
	t.set(tMeta, 0, keyPosition, t.encode(&m))
}
