// Package index is recall: it follows the oplog and answers what a question finds. All it holds is derived
// from the state and may be thrown away; a rebuild is the only cost.
//
// There is one index a database. It holds the columns that filters and scores need (column.go), the words
// (words.go) and the vectors, and it is fed batches of outcomes in log order by one goroutine (Follow). Any
// number of goroutines may search meanwhile. An answer is a function of the rows the index has and of
// Query.Now: not of batch sizes, restarts or the replica that gives it.
package index
