// Package api describes every operation on a memory: each request and each answer as a plain struct whose tags
// describe its fields, and Ops, the table of all operations. Every surface is made from it: HTTP routes, OpenAPI and
// the reference page, tools for models, flags. It runs nothing, holds no state, opens no connection and decides no
// right. Any package may import it; surfaces and local dialects import no other package below node. It imports
// opcodes (wire), ids (oplog) and the description of values (wire/field).
//
// # Tags
//
//	json     the field's name
//	idle     the name of a field that clients send and that changes nothing; the field itself is named _
//	is       what its value may be, where the Go type does not say it: see wire/field; "!" behind it: the request must have it
//	doc      what it means, with its unit
//	default  what holds when a request leaves it out
//	example  a value as clients send it
//	names    what the value is the id of: memory, session, conflict or trigger; - for an id that a bound token may give, as
//	         it only filters, or is a place in a list
//	also     other spellings that every surface takes
//	in       where in an HTTP request it comes: path, query, body (query for GET, body for the others)
//	tool     spellings that models use; - for what tools do not take
//	code     what HTTP calls a rejection of the field, where clients know its own word
//
// # The dialects of this host
//
// What only they ask (host.go) has a row and no route: its request holds functions and operations of the log. What
// they do to the host and not to a memory, such as running a program, has one too, with a scope that no token has. At
// is a database as they see it.
//
// # A new operation
//
// A request and an answer in the file of its subject, its row in Subjects, the method behind it in the engine's list,
// a transcript. Routes, schemas, tools and the reference follow.
package api
