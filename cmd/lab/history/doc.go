// Package history says what clients of a cluster asked and were told, a line of JSON each, and judges it: whether what
// was acknowledged is there, once, and whether each read saw what its kind promises. It knows of no node and no
// protocol, so a file that one run left can be checked again anywhere.
//
// Two kinds of keys are written, each for some seconds by several clients and then closed:
//
//	set       add N … read → which numbers are there, and which of them more than once
//	register  write N … get → the number that was written last
//
// Numbers of a key are used once, but for attempts to add one again under its idempotency key. A read is linearizable,
// at an index of the log, or stale, and says which process of which node answered. A key is judged when it is closed,
// so that a history of any length takes the memory of the keys that are open, and a few words for each that was.
//
// set.go and register.go say which numbers each read must show; register.go leaves the search for an order to
// porcupine.
package history
