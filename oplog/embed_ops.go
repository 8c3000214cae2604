package oplog

import "fmt"

// Embedder names what made a database's vectors. Vectors of different embedders cannot be compared.
type Embedder struct {
	Name    string `msgpack:"n"`
	Version string `msgpack:"v"`
	Dim     uint32 `msgpack:"d"`
}

// SetEmbedder binds the entry's database to an embedder, once. Saying the same again changes nothing.
type SetEmbedder struct {
	Embedder Embedder `msgpack:"e"`
}

var embedFamily = family{
	{KindSetEmbedder, "set_embedder", func() Op { return new(SetEmbedder) }},
}

// Kind implements Op.
func (*SetEmbedder) Kind() OpKind { return KindSetEmbedder }

func (op *SetEmbedder) apply(a *applying) (Result, *Error) {
	d, err := a.database()
	if err != nil {
		return Result{}, err
	}
	e := op.Embedder
	if e.Name == "" || e.Dim == 0 {
		return Result{}, Errorf(Invalid, "an embedder needs a name and a dimension")
	}
	if d.Embedder != nil {
		if *d.Embedder != e {
			return Result{}, Errorf(Conflict, "database %s is embedded by %s, not by %s", d.Name, d.Embedder, &e)
		}
		return Result{ID: e.Name}, nil
	}
	if d.Dim != 0 && d.Dim != e.Dim {
		return Result{}, Errorf(Conflict, "database %s has vectors of %d dimensions, not those of %s", d.Name, d.Dim, &e)
	}
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	return Result{ID: e.Name, Changed: true}, nil
}

func (e *Embedder) String() string {
	return fmt.Sprintf("%s/%s (%d dimensions)", e.Name, e.Version, e.Dim)
}
