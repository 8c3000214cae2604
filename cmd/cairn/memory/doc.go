// Package memory is the verbs of cairn that are made from the table of operations. Flags, bounds, defaults and help
// come from the fields of the request in node/api. An operation is a verb without a line here; a row of list gives one
// a shorter name, names for its flags, columns, examples.
//
// Verbs whose operation is a stream of writes or has a client of its own over the wire (remember, recall, forget,
// relate, import, export) are not here.
package memory
