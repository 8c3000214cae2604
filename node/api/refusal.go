package api

// A Refusal gives an error a code of its own where its kind is too coarse for clients, and what is told beside it.
type Refusal struct {
	Code string
	Err  error
	More map[string]any
}

func (e *Refusal) Error() string { return e.Err.Error() }
func (e *Refusal) Unwrap() error { return e.Err }
