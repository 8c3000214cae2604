// Package history defines and checks histories: the requests of a cluster's clients and their answers, one JSON line
// each. The check verifies that acknowledged writes are present exactly once, and that each read shows what its
// consistency promises. It depends on no node and no protocol, so a recorded file can be checked again anywhere.
//
// There are two kinds of keys. Several clients write a key for some seconds and then close it:
//
//	set       add N … read → the numbers in it, and which of them occur more than once
//	register  write N … get → the last written number
//
// Each number of a key is used once, except that an add may be repeated with its idempotency key. A read is
// linearizable, at an index of the log, or stale, and names the process and the node that answered. A key is checked
// when it is closed, so the memory depends on the open keys and only a little on the length of the history.
//
// set.go and register.go define which numbers each read must show. register.go uses porcupine to check
// linearizability.
package history
