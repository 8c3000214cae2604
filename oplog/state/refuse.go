package state

import "github.com/cairndb/cairn/oplog"

// A refusal ends the entry under way, as a panic that perform recovers: an operation does all it does or nothing, so
// nothing goes on behind one, wherever it is met. What the entry wrote is undone (txn.rollback).
type refusal struct{ err *oplog.Error }

func refuse(err *oplog.Error) { panic(refusal{err}) }

func refuseIf(when bool, err *oplog.Error) {
	if when {
		refuse(err)
	}
}

// refusef is refuseIf with a text, which is made only then. Its arguments are made always: where every write passes,
// reject stands behind an if.
func refusef(when bool, k oplog.Kind, format string, args ...any) {
	if when {
		refuse(oplog.Errorf(k, format, args...))
	}
}
