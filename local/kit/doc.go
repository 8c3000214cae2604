// Package kit holds helpers for JSON and texts that the dialects share: objects with ordered members (Object), JSON
// for answers (JSON), the lines of a file (Lines), the diff of two texts (Diff), and the cut at a character boundary
// (CompleteRunes). It depends on no dialect and no memory.
package kit
