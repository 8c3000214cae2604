// Package mcp offers the operations of the table to models, by the Model Context Protocol over Streamable HTTP: tools,
// a prompt and resources. Each row of node/api that has a Tool is one; its schemas are made from the row's structs.
// Every exchange stands by itself, so any node answers any of them. Only the gateway calls it: it authenticates the
// caller, reads the message and calls Serve. This package checks no rights itself, but asks the door.
package mcp
