package state

import (
	"bytes"

	"github.com/cairndb/cairn/oplog"
)

var needPrefix = []byte("needs/") // of tControl, behind it a kind's byte

// noteKinds notes the newer kinds of an entry, whatever becomes of it: it is in the log.
func (t *txn) noteKinds(e *oplog.Entry) {
	for _, k := range oplog.Newer(e.Ops) {
		t.put(tControl, 0, append(bytes.Clone(needPrefix), k), nil)
	}
}

// NeededKinds are the kinds that are or were in the log and that not every version reads.
func (v *View) NeededKinds() (needed oplog.Kinds) {
	for k := range v.scan(tControl, 0, needPrefix) {
		needed = append(needed, k[len(needPrefix):]...)
	}
	return needed
}
