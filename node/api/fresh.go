package api

// Fresh says how new an answer must be. The zero value takes what this node has applied.
type Fresh struct {
	MinIndex    uint64 `json:"min_index" in:"query,body" also:"min_seq" tool:"-" code:"invalid_min_seq" doc:"Wait until this node has applied the log up to this index. Pass the log_index of a write to read your own write on another node."`
	Consistency string `json:"consistency" in:"query,body" tool:"-" is:"string{stale,linearizable}" doc:"linearizable: the answer includes everything acknowledged before the request."`
}

// Wanted is how new the answer to a request must be that has a Fresh in it.
func (f Fresh) Wanted() Fresh { return f }
