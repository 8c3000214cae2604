// Package wireport implements the clients' binary protocol: connections, streams, tokens, and each opcode as a row of
// the table of operations.
//
// It only translates frames (wire) to requests (api) and answers to frames. The door checks rights, limits and
// leadership. A node opens one Server on its wire listener, and closes it before everything else.
//
// The first frame of a connection is AUTH. After it, the frames of one stream are answered one after the other, and
// those of different streams concurrently. Config.MaxInFlight bounds the running requests of all connections; further
// ones wait. A client that closes its write side still gets the answers to its requests, for fifteen seconds; then
// its subscriptions and the connection end. Before AUTH a connection may use a few KiB. Later, large frames wait for
// their share of the node's byte budget before they are read.
//
// Lock order: Server.mu before session.mu.
package wireport
