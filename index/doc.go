// Package index is recall: it follows the oplog and answers what a question finds. All it holds is derived
// from the state and may be thrown away; a rebuild is the only cost.
//
// There is one index a database: the words (package text), and the columns and vectors that filters and scores
// need (column.go). One goroutine feeds it the outcomes of applied entries in log order (Follow); any number may
// search meanwhile. A search gathers candidates by words and by vector, filters inside, and gives them to package
// rank. An answer is a function of the rows the index has and of Query.Now: not of batch sizes, restarts or the
// replica that gives it.
package index
