// Package memory is the verbs of cairn that are made from the table of operations: a row of list for each, which names the operation, the fields that
// are arguments, and what of the answer people see. Flags, bounds, defaults and help come from the fields of the request in node/api.
//
// Verbs whose operation is a stream of writes or has a client of its own over the wire (remember, recall, forget, relate, import, export) are not here.
package memory
