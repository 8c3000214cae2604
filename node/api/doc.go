// Package api describes every operation on a memory. Each request and each answer is a plain struct whose tags
// describe its fields, and Ops is the table of all operations. Every surface is derived from it: HTTP routes, OpenAPI
// and the reference page, tools for models, flags. The package runs nothing, holds no state, opens no connection and
// decides no rights. Any package may import it; surfaces and local dialects import no other package below node. It
// imports opcodes (wire), ids (oplog) and the description of values (wire/field).
//
// # Tags
//
//	json     the field's name
//	idle     the name of a field that clients send and that has no effect; the field itself is named _
//	is       the values that are allowed, if the Go type does not say it: see wire/field; a final "!" makes it required
//	doc      what it means, with its unit
//	default  its value if a request leaves it out
//	example  a value as clients send it
//	names    what the value identifies: memory, session, conflict or trigger; - for an id that a bound token may give,
//	         because it only filters or is a place in a list
//	also     other spellings that every surface accepts
//	in       its place in an HTTP request: path, query or body (by default query for GET, body for the others)
//	tool     spellings that models use; - if tools do not have the field
//	code     the error code of HTTP if the field is rejected, if clients know a special one
//
// # The dialects of this host
//
// Operations that only the dialects need (host.go) have a row but no route, because their requests hold functions and
// operations of the log. Acts on the host, such as running a program, have rows too, with a scope that no token has.
// At is a database as the dialects see it.
//
// # A new operation
//
// It needs a request and an answer in the file of its subject, its row in Subjects, a method in the engine's list, and
// a transcript. Routes, schemas, tools and the reference follow from these.
package api
