// Package client speaks Cairn's wire protocol to a cluster.
//
// A Client knows some nodes' addresses and keeps one connection, on which any number of goroutines may ask at
// once. A read goes to the node it is connected to. A refused write is taken to the leader that the refusal
// names; while there is none, the write waits until its context ends.
//
// # What is sent twice
//
// A read whose connection breaks is asked again on another node. A write is sent again only when it surely was
// not taken (the dial failed, a node refused it), or when it carries an idempotency key: Remember and
// RememberBatch make one when the caller gives none, so they survive the death of a leader and store once.
// Any other write whose connection breaks ends in ErrUnknownOutcome, and so does one whose context ends before
// a node has reported its outcome: it may or may not have happened.
//
// # Servers that do not answer
//
// A server that has been quiet for half a second while a request waits is pinged. Where nothing comes for another half second, and the
// client knows other nodes, what may be asked twice is asked of them; the rest, subscriptions and RecallEach wait until the server is taken
// for gone, five seconds after its last byte.
//
// # What is read
//
// A recall is answered with what the node has applied. A client that moved to another node may miss its own writes there: with
// Config.OwnWrites it asks for them (min_index), and Index carries them to another client.
package client
