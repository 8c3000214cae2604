// Package mcp offers the operations of the table to models, by the Model Context Protocol over Streamable HTTP: tools, a prompt and
// resources. Each row of node/api that has a Tool is one; its schemas are made of the row's structs. Every exchange stands by itself, so
// any node answers any of them. The gateway lets callers in, reads their messages and calls Serve; this package asks the door and knows
// nothing else of a node.
package mcp
