// Package memory contains the verbs of cairn that are generated from the table of operations. Flags, bounds, defaults
// and help come from the request's fields in node/api. An operation needs no code here to become a verb; a row of
// list adds a shorter name, flag names, columns and examples.
//
// remember, forget, relate and recall use the wire protocol; the other verbs use HTTP. import and export are
// verbs of package transfer.
package memory
