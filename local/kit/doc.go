// Package kit has the parts that the dialects of this host share: a unix socket that is its own (Claim), a loop that
// accepts from it (Serve), places for the large requests of many clients (Large), members of JSON objects whose clients
// are careless (Text), JSON as it is answered (Object), event streams (StartEvents), files that are replaced durably
// (WriteFile), and lines of files (Lines). It knows no dialect and no memory, never decides which clients come in
// (local/door does), and starts no goroutine. Dialects import it; it imports wire/large, and nothing else of ours.
package kit
