package state

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/store"
)

// absent answers for tables in which a batch mostly looks for what is not there: the ids and idempotency keys of new memories. It asks a
// snapshot for what was there before the batch, and remembers what the batch wrote since.
type absent struct {
	begin  func() (*store.Snapshot, error) // nil in a transaction that only reads
	before *store.Snapshot
	wrote  map[string]struct{} // rows of these tables
}

func mostlyAbsent(table tableID) bool { return table == tKey || table == tRID }

// note has to be told of each row before it is written.
func (a *absent) note(table tableID, row []byte) {
	if a.begin == nil || !mostlyAbsent(table) {
		return
	}
	if a.wrote == nil {
		a.wrote = map[string]struct{}{}
	}
	a.wrote[string(row)] = struct{}{}
}

// surely says that a row is not there.
func (a *absent) surely(row []byte) (yes bool, err error) {
	if a.begin == nil {
		return false, nil
	}
	if _, ok := a.wrote[string(row)]; ok {
		return false, nil
	}
	if a.before == nil {
		if a.before, err = a.begin(); err != nil {
			return false, err
		}
	}
	_, there, err := a.before.Peek(row)
	return !there && err == nil, err
}

func (a *absent) close() {
	if a.before != nil {
		a.before.Close()
	}
}

// getNew is get for a row that is mostly not there.
func (t *txn) getNew(table tableID, db oplog.DB, key []byte) []byte {
	switch surely, err := t.absent.surely(t.key(table, db, key)); {
	case err != nil:
		failDisk(table, db, err)
	case surely:
		return nil
	}
	return t.get(table, db, key)
}
