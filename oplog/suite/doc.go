// Package suite divides the tests of all packages into suites, and waits in tests. Nothing that ships imports it.
//
//	go test ./...                what a change most likely breaks, in minutes
//	go test -tags full ./...     all that a change must pass
//	go test -tags soak ./...     also what takes hours
//
// A test of the full suite calls [Full] first. A test that repeats itself more often in the full suite asks [Count]
// how often. Tests that wait do so under one deadline, [Patience]: for a condition with [Eventually], for a channel
// with [Receive], and for what takes a context with [Context].
package suite
