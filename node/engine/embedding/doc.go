// Package embedding gives memories and questions their vectors. It knows the models of this node and the embedder of
// each database. It embeds new memories and questions, and in the background those memories that were stored without
// a vector. It changes a database to another embedder while the old vectors serve.
//
// The package does not know the engine: Config holds the functions that it needs. It checks no rights, and opens only
// the files of models. If an embedder fails, memories are still stored, and questions are answered by their words.
//
// # Locks
//
// Models are opened one at a time, under a lock that questions and writes never take. Methods of Vectors may be
// called from any goroutine, those of Backfill from one goroutine.
package embedding
