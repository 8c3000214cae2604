package state

import "github.com/cairndb/cairn/oplog"

// A rejection ends the entry under way, as a panic that perform recovers: an operation does all it does or nothing, so
// nothing goes on behind one, wherever it is met. What the entry wrote is undone (txn.rollback).
type rejection struct{ err *oplog.Error }

func reject(err *oplog.Error) { panic(rejection{err}) }

func rejectIf(when bool, err *oplog.Error) {
	if when {
		reject(err)
	}
}

// rejectf is rejectIf with a text, which is made only then. Its arguments are made always: where every write passes,
// reject stands behind an if.
func rejectf(when bool, k oplog.Kind, format string, args ...any) {
	if when {
		reject(oplog.Errorf(k, format, args...))
	}
}
