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
//	DIR/<database>-<generation>/birth.json  whose texts these are: cluster, database, when it was made
//	DIR/<database>-<generation>/text/       package text; each row is tagged with its memory's sequence number and revision
//
// A memory's text at a revision never changes, so at Open a row whose tag the state confirms is taken over without being
// analysed again. Rows that the state does not have are deleted, those it has besides are added: the disk may be behind or
// ahead of the state, by a crash or otherwise, and the answers are the same. What is damaged is thrown away. The columns and the
// vectors' codes are read from the state.
package index
