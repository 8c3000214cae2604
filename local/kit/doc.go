// Package kit has what the dialects of this host do with JSON and with files: objects whose members keep their order
// (Object), JSON as it is answered (JSON), lines of files (Lines), what differs in two texts (Diff), texts that come in
// pieces (Whole), and files that are replaced durably (WriteFile). It knows no dialect and no memory, and starts no
// goroutine. It imports oplog/syncwriter, and nothing else of ours.
package kit
