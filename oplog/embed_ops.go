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

// Rebind gives a database that is bound to an embedder to another. Its vectors are those of the new one from then on, so it
// has none at first; those of the old one are removed as Embed goes through the memories.
type Rebind struct {
	Embedder Embedder `msgpack:"e"`
}

// Embed gives memories that lack them their vectors. Embedder must be the database's. A memory that is not at the revision its
// vector speaks of, or has a vector, is passed over. From and Next say how far memories were looked at: while a database
// is being rebound the vectors of the former embedder are removed from there.
type Embed struct {
	Embedder Embedder   `msgpack:"e"`
	Vectors  []Embedded `msgpack:"v,omitempty"`
	From     Seq        `msgpack:"f,omitempty"`
	Next     Seq        `msgpack:"n,omitempty"`
}

// Embedded is the vector of a memory's text at a revision.
type Embedded struct {
	Seq      Seq    `msgpack:"q"`
	Revision uint32 `msgpack:"r,omitempty"`
	Vector   Vector `msgpack:"v"`
}

// Embedding is how a database stands with its embedders. The zero value is that of one that never changed.
type Embedding struct {
	Epoch uint32 `msgpack:"e"`           // counts its embedders; vectors of an odd one lie in a table of their own
	Next  Seq    `msgpack:"n,omitempty"` // the first memory not gone through since the last change; 0 when that is done
	Last  Seq    `msgpack:"l,omitempty"` // the last to go through
}

func (e *Embedder) String() string {
	if e == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s/%s (%d dimensions)", e.Name, e.Version, e.Dim)
}
