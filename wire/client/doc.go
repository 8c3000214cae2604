// Package client speaks Cairn's wire protocol to a cluster.
//
//	c, err := client.Dial(ctx, client.Config{Addrs: []string{"10.0.0.1:7437", "10.0.0.2:7437"}, Token: token})
//	rid, err := c.Remember(ctx, wire.NewRemember("Alice leads the payments team"))
//	results, _, err := c.Recall(ctx, wire.NewRecall("who leads payments?"))
//
// Remember, RememberBatch, Correct and Forget change memories; Recall finds them, Get and List show them, Context
// returns what an agent should know when it begins. Relate, Edges, Claim, Claims and Alias are about entities,
// StartSession and EndSession about sessions, Think, Conflicts, Resolve and Personality about cognition. Watch
// follows what happens. Query, Change and Repeat ask for any other operation of the HTTP reference, by its
// name.
//
// A Client knows some nodes' addresses and keeps one connection, on which any number of goroutines may ask at
// once. A read goes to the node it is connected to. A rejected write is sent to the leader that the rejection
// names; while there is none, the write waits until its context ends.
//
// # What is sent twice
//
// A read whose connection breaks is asked again on another node. A write is sent again only when it surely was
// not taken (the dial failed, a node rejected it), or when it carries an idempotency key: Remember and
// RememberBatch make one when the caller gives none, so they survive the death of a leader and store once.
// Relate, Forget and others that name all that they change are sent again too, and so is what Repeat asks for. Any
// other write whose connection breaks ends in ErrUnknownOutcome, and so does one whose context ends before a node has
// reported its outcome: it may or may not have happened. Correct and Change are such writes: read what they change
// before you ask again.
//
// An answer that the client cannot read is an error at once. A node refuses to send one that is too long: ask for
// less, as with Listing.Limit.
//
// # Servers that do not answer
//
// A server that has been quiet for half a second while a request waits is pinged. Where nothing comes for another
// half second, and the client knows other nodes, what may be asked twice is asked of them; the rest, subscriptions
// and RecallEach wait until the server is taken for gone, five seconds after its last byte.
//
// # What is read
//
// A read is answered with what the node has applied. A client that moved to another node may miss its own writes
// there: with Config.OwnWrites every read asks for them (min_index), and Index carries them to another client.
//
// # What is watched
//
// Watch and Subscribe have their own connection. Watch goes on behind the last event when it breaks, and leaves
// a server that does not answer; Subscribe ends, and its caller begins again where it likes.
package client
