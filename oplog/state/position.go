package state

import "github.com/cairndb/cairn/oplog"

// A Point is a state's place in the log, and the state's hash there.
type Point struct {
	Index oplog.Index `msgpack:"i"`
	Term  oplog.Index `msgpack:"t"`
	Sum   Sum         `msgpack:"s"`
}

// position is the state's place in the log and what it knows of the log's window. It is stored in the batch of the
// records that it counts, so each record is applied exactly once.
type position struct {
	Point
	Last    oplog.HLC   `msgpack:"l"` // of the newest entry
	Ops     uint64      `msgpack:"o"` // operations in the retained log
	First   oplog.Index `msgpack:"f"` // no record before it is retained
	Oldest  oplog.HLC   `msgpack:"h"` // of the record at First; zero while it was not read
	Trimmed oplog.HLC   `msgpack:"r"` // of the newest entry that has left the window; zero for none
}

// The keys of tMeta.
var (
	keyPosition = []byte("mark")
	keyFormat   = []byte("format")
)

// stateFormat is the version of the rows' format. A node rejects a state of another version.
const stateFormat = 7

// position reads the position. A new store has the zero value.
func (t *txn) position() position { return load[position](t, tMeta, 0, keyPosition) }

func (t *txn) putPosition(m position) {
	t.set(tMeta, 0, keyFormat, be64(stateFormat))
	t.set(tMeta, 0, keyPosition, t.encode(&m))
}
