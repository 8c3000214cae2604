// Package embedding gives memories and questions their vectors. It knows the models of this node and the embedder of
// each database, embeds what is stored and asked, embeds afterwards what was stored without a vector, and changes a
// database to another embedder while the old vectors serve.
//
// It knows nothing of the engine behind whose door it works: Config holds what it needs of it. It decides no right and
// opens no file but those of models. An embedder that fails never keeps a memory from being stored, nor a question from
// being answered by its words.
//
// # Locks
//
// Models are opened one at a time, under a lock that no question or write waits for. Methods of Vectors may be called
// from any goroutine, those of Backfill from one.
package embedding
