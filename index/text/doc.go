// Package text is the lexical side of one database's recall index: which rows
// contain the words of a query, and how well.
//
// Postings live in a Bleve (scorch) index; scores are our own BM25 over exact
// statistics of the live rows. The answer to a query is a function of those rows
// alone: two replicas that applied the same changes give the same rows and the
// same bits of every score, however the changes were batched, merged, restarted
// or replayed.
//
//	Apply ──► tail: blocks of analysed rows, searchable at once
//	             │ indexer, one goroutine: a block = one batch, several at a time under a backlog
//	             ▼
//	          Bleve segments
//	Search = tail ∪ segments, filtered by the row table, one formula
//
// # What is stored
//
// A row is a Bleve document of four fields. A segment of them is made of a block's
// counted terms, in Bleve's format (segment.go); Bleve analyses nothing, and
// nothing is stored but the id.
//
//	_id  the row number, 8 hex digits
//	t    the terms; norm = length of the text in tokens, exact up to 65535
//	g    one term, the group in 8 hex digits; frequency = row + 2, norm = length + 1
//	r    one term, the tag's revision, 8 hex digits; frequency = the tag's number + 2
//
// A restart reads field g: one posting a row gives its number, group and length,
// so statistics are rebuilt exactly from the segments, without the texts. The
// internal value "cairn" is a format number (4 bytes, big endian) and 8 zero bytes.
//
// # Who may call what
//
// Every method is safe for concurrent use. ApplyDocuments never waits for Bleve;
// Ready waits when the tail is over its bound, and is called outside the path
// that applies the log. Close does not flush: the owner compares Restored with
// its texts, and applies again what is not on disk. The package opens no sockets,
// logs no text and never reads the clock to decide an answer.
package text
