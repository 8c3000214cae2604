package state

import (
	"bytes"

	"github.com/cairndb/cairn/oplog"
)

var needPrefix = []byte("needs/") // of tControl; a kind's byte follows

// noteKinds notes the newer kinds of an entry, even of a rejected one, because the log holds it.
func (t *txn) noteKinds(e *oplog.Entry) {
	for _, k := range oplog.Newer(e.Ops) {
		t.put(tControl, 0, append(bytes.Clone(needPrefix), k), nil)
	}
}

// NeededKinds returns the kinds that are or were in the log and that some versions cannot read.
func (v *View) NeededKinds() (needed oplog.Kinds) {
	for k := range v.scan(tControl, 0, needPrefix) {
		needed = append(needed, k[len(needPrefix):]...)
	}
	return needed
}
