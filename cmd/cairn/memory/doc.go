// Package memory is the verbs of cairn that are made from the table of operations. Flags, bounds, defaults and help
// come from the fields of the request in node/api. An operation is a verb without a line here; a row of list gives one
// a shorter name, names for its flags, columns, examples.
//
// remember, forget, relate and recall speak the wire protocol (send.go, recall.go). import and export are verbs of
// package transfer.
package memory
