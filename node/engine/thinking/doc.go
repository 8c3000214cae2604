// Package thinking runs rounds of cognition over the databases of a node, on the leader, in the background or on
// request. It also serves their results: contradictions, triggers, patterns and traits.
//
// It does not know the engine: Config holds the functions that it needs. It checks no rights. Package mind derives
// the decisions from a snapshot, and Apply checks the grounds of every decision again. So an interrupted round, one
// that loses leadership, or one that is applied twice does no harm.
//
// # Locks
//
// One round runs at a time. Others wait for it until their callers give up. No round keeps a view of the state open
// while it pauses. Methods of Thinker may be called from any goroutine.
package thinking
