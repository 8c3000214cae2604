// Package index is recall: it follows the oplog and answers searches. All it holds is derived from the state and may
// be deleted at the cost of a rebuild. It never writes to the state or the log, opens no sockets, and logs no text,
// query or vector.
//
// There is one index a database: the words (package text), the vectors (package vector), the names of entities
// (graph.go) and the columns that filters and scores need (column.go). One goroutine feeds it the outcomes of applied
// entries in log order (Follow); any number may search meanwhile. A search captures where the rows are, then gathers
// candidates by words, by vector and by relation without holding a lock, filters inside each of these, and gives them
// to package rank. An answer is a function of the rows the index has and of Query.Now: not of batch sizes, restarts
// or the replica that gives it.
//
// Open, Follow, Rebuild and Close belong to one goroutine of the node (its feed), one at a time; every other method
// may be called from any goroutine. Index.mu and database.mu are never held together. Lock order: Index.mu, then
// those of package text; database.mu, then names.mu. No lock is held over I/O, analysis or a callback.
//
// # On disk
//
//	DIR/checkpoint                             which files below are the last checkpoint, and at which index of the log
//	DIR/<database>-<generation>/identity.json  which database's texts these are: cluster, database, when it was made
//	DIR/<database>-<generation>/text/          package text; rows tagged with sequence number and textVersion
//	DIR/<database>-<generation>/rows-*         pieces of the checkpoint: columns, vectors, attributes, sessions (piece.go)
//
// Open loads the checkpoint and reads from the state only the memories that the retained log touched after it. A
// memory's text never changes at a textVersion, so a row on disk whose tag the checkpoint or the state confirms is not
// analysed again; unconfirmed rows are deleted, and rows that the text index lost are analysed again. Without a
// checkpoint that the retained log continues, Open reads the whole state. The disk may be behind or ahead of the
// state, by a crash or otherwise: the answers are the same. Every section of a file has a checksum (sections.go); a
// damaged file is deleted and rebuilt. A checkpoint is written at Close, and in the background after 20,000 changes:
// a piece with what changed, next to those of before.
package index
