// Package wireport is the clients' binary protocol: connections, streams, tokens, and each opcode as a row of the table
// of operations.
//
// It translates frames (wire) to requests (api) and answers to frames, and no more: it knows no right, no limit of an
// operation, no leader; the door does. A node opens one Server on its wire listener and closes it first of all.
//
// A connection's first frame is AUTH. Behind it the frames of one stream are answered one after the other, those of
// different streams side by side; over all connections so many requests are under way at once (Config.MaxInFlight), and
// one more waits. A client that ends its side gets the answers to what it has asked, for fifteen seconds; then its
// subscriptions and the connection end. What a connection holds before AUTH is bounded to a few KiB, and large frames
// behind it wait for their share of the node's budget before they are read.
//
// Lock order: Server.mu before session.mu.
package wireport
