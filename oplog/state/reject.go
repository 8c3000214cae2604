package state

import "github.com/cairndb/cairn/oplog"

// A rejection is the panic value with which an operation ends its entry. perform recovers it and undoes what the
// entry wrote (txn.rollback). An entry is applied whole or not at all, so no code may run after a rejection.
type rejection struct{ err *oplog.Error }

func reject(err *oplog.Error) { panic(rejection{err}) }

func rejectIf(when bool, err *oplog.Error) {
	if when {
		reject(err)
	}
}

// rejectf is rejectIf with a text, formatted only on a rejection. Its arguments are always evaluated, so code that
// every write runs uses an if and reject.
func rejectf(when bool, k oplog.Kind, format string, args ...any) {
	if when {
		reject(oplog.Errorf(k, format, args...))
	}
}
