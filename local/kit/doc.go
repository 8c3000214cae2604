// Package kit has what the dialects of this host do with JSON and with files: objects whose members keep their order
// (Object), JSON as it is answered (JSON), lines of files (Lines), what differs in two texts (Diff), and texts that
// come in pieces (Whole). It knows no dialect and no memory, and starts no goroutine. It imports nothing of ours.
package kit
