// Package client speaks Cairn's wire protocol to a cluster.
//
//	c, err := client.Dial(ctx, client.Config{Addrs: []string{"10.0.0.1:7437", "10.0.0.2:7437"}, Token: token})
//	rid, err := c.Remember(ctx, wire.NewRemember("Alice leads the payments team"))
//	results, _, err := c.Recall(ctx, wire.NewRecall("who leads payments?"))
//
// Remember, RememberBatch, Correct and Forget change memories; Recall finds them, Get and List return them, and
// Context returns what an agent should know when it starts. Relate, Edges, Claim, Claims and Alias are about
// entities, StartSession and EndSession about sessions, Think, Conflicts, Resolve and Personality about thinking.
// Watch delivers events. Query, Change and Repeat execute any other operation of the HTTP reference, by name.
//
// A Client knows the addresses of some nodes and keeps one connection, which any number of goroutines may use. A read
// goes to the connected node. A rejected write is sent to the leader that the rejection names; while there is no
// leader, the write waits until its context ends.
//
// # Retries
//
// A read whose connection breaks is retried on another node. A write is retried only if it certainly had no effect
// (the dial failed, or a node rejected it) or if it is idempotent. Remember and RememberBatch generate an idempotency
// key if the caller sets none, so that a retry after the death of a leader stores only once. Relate, Forget, Repeat
// and others that name all that they change are retried too. Any other write ends in ErrUnknownOutcome if its
// connection breaks, or if its context ends before a node has reported the outcome: it may or may not have happened.
// Correct and Change are such writes: read what they change before you repeat them.
//
// An answer that the client cannot read is an error at once. A node rejects a request whose answer would be too long:
// request less, for example with Listing.Limit.
//
// # Servers that do not answer
//
// The client pings a server that has been quiet for half a second while a request waits. If nothing arrives for
// another half second and the client knows other nodes, it sends requests that may be retried to another node. Other
// requests, subscriptions and RecallEach wait until the connection is closed as dead, five seconds after the server's
// last byte.
//
// # Consistency
//
// A read reflects what the connected node has applied. After a switch to another node, a client may not see its own
// writes. With Config.OwnWrites every read requires them (min_index), and Index passes them to another client. After
// a restore from an older backup one read says that the cluster's log ends before them; later reads do without.
//
// # Events
//
// Watch and Subscribe have their own connection. When it breaks, Watch continues after the last event, and it leaves
// a server that does not answer. Subscribe ends, and the caller can subscribe again from any position.
package client
