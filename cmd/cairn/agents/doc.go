// Package agents joins Cairn to the coding agents on this machine. `cairn connect` writes an agent's own
// configuration: the MCP server, the hooks, and a note for the model. `cairn hook` is the program that those hooks
// run.
//
// What connect wrote for a tool is kept in a record next to the user's contexts, with the tool's token and its spool:
//
//	connect/TOOL.json, connect/TOOL-<key>.json   records, the second of a project
//	connect/TOOL.token                           the tool's token, mode 0600
//	connect/TOOL.spool/                          captures that wait for the node, a file each
//
// The directory is the user's and not a node's: a tool has one configuration, whichever node it talks to, and the
// home of a node may belong to another user.
package agents
