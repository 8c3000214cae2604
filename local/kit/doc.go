// Package kit is what every dialect of this host needs to stand: a unix socket that is its own (Claim), a loop that accepts from it
// (Serve), places for the large requests of many clients (Large), members of JSON objects whose clients are careless (Text), and event
// streams (StartEvents). It knows no dialect and no memory, never decides who may come in (that is local/door's), and starts no
// goroutine but those of the connections that Serve hands on. Dialects import it; it imports wire/large, and nothing else of ours.
package kit
