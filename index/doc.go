// Package index is recall: it follows the oplog and answers what a question finds. All it holds is derived
// from the state and may be thrown away; a rebuild is the only cost.
//
// There is one index a database: the words (package text), the vectors (package vector), the names of entities (graph.go) and
// the columns that filters and scores need (column.go). One goroutine feeds it the outcomes of applied entries in log order
// (Follow); any number may search meanwhile. A search captures where the rows are, then gathers candidates by words, by vector
// and by relation without holding a lock, filters inside each of these, and gives them to package rank. An answer is a
// function of the rows the index has and of Query.Now: not of batch sizes, restarts or the replica that gives it.
//
// # On disk
//
//	DIR/checkpoint                          which files below are the last checkpoint, and of which index of the log
//	DIR/<database>-<generation>/birth.json  whose texts these are: cluster, database, when it was made
//	DIR/<database>-<generation>/text/       package text; each row is tagged with its memory's sequence number and revision
//	DIR/<database>-<generation>/rows-*      columns, facets and sessions (rowsfile.go)
//	DIR/<database>-<generation>/vectors-*   codes and int8 forms of consecutive rows, appended to by further files
//
// Open takes a checkpoint over and reads from the state only what the retained log says was touched since. A memory's text at a
// revision never changes, so a row on disk whose tag the checkpoint, or the state, confirms is not analysed again; rows that
// nothing confirms are deleted, those that the words have lost are analysed anew. Without a checkpoint that the log leads on
// from, all of the state is read. The disk may be behind or ahead of the state, by a crash or otherwise: the answers are the same.
// Every section of a file has a checksum (sections.go); what is damaged is thrown away. A checkpoint is written at Close, and
// beside the work when a quarter of the rows, 20,000 at least, are new.
package index
