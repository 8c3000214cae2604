// Package agents connects the coding agents on this machine to Cairn. `cairn connect` edits an agent's configuration:
// the MCP server, the hooks, and a note for the model. Those hooks run `cairn hook`.
//
// For each tool, connect keeps a record of its entries, the token and a spool next to the user's contexts:
//
//	connect/TOOL.json, connect/TOOL-<key>.json   records of the user and of a project
//	connect/TOOL.token                           the tool's token, mode 0600
//	connect/TOOL.spool/                          captures that wait for the node, one file each
//
// The directory belongs to the user and not to a node: a tool has one configuration for all nodes, and the home of a
// node may belong to another user.
package agents
