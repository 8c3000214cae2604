// Package thinking thinks about the databases of a node: rounds of cognition, which the leader makes by itself or on
// request, and what readers ask of their results, such as contradictions, triggers, patterns and traits.
//
// It knows nothing of the engine behind whose door it works: Config holds what it needs of it. It decides no right.
// What follows from a snapshot is decided by package mind; what of it holds, by Apply, which checks the grounds of
// every part again. A round that is cut short, loses its leadership or is applied twice does no harm.
//
// # Locks
//
// One round is under way at a time, and others wait for it, until their callers give up. No round keeps a view of the
// state open while it rests. Methods of Thinker may be called from any goroutine.
package thinking
