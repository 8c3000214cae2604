package oplog

import "fmt"

// Embedder names what made a database's vectors. Vectors of different embedders cannot be compared.
type Embedder struct {
	Name    string `msgpack:"n"`
	Version string `msgpack:"v"`
	Dim     uint32 `msgpack:"d"`
}

// NoEmbedder says that no node makes a database's vectors, and that none is to begin.
var NoEmbedder = Embedder{Name: "none"}

// Valid reports whether a database can be bound to an embedder.
func (e Embedder) Valid() bool {
	return e == NoEmbedder || e.Name != "" && e.Dim > 0 && e.Dim <= MaxDim
}

// SetEmbedder binds the entry's database to an embedder, once. Saying the same again changes nothing.
type SetEmbedder struct {
	Embedder Embedder `msgpack:"e"`
}

// Rebind gives a database that is bound to an embedder to another. The old vectors answer until Embed has gone
// through all memories with the new embedder; then the database changes over. NoEmbedder changes it over at once. The
// embedder that the database has ends a change that is under way.
type Rebind struct {
	Embedder Embedder `msgpack:"e"`
}

// Embed gives memories that lack them their vectors. Embedder is the database's, or the one that it changes to. A
// memory that is not at the revision its vector speaks of, or has a vector, is passed over. From and Next say how far
// memories were looked at: with the embedder that the database changes to, and after the change, when the vectors of
// the former one are removed.
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

// Embedding is the state of a database's change from one embedder to another. A database that never changed has the
// zero value.
type Embedding struct {
	Epoch   uint32    `msgpack:"e"`           // counts its embedders; vectors of an odd one lie in their own table
	Next    Seq       `msgpack:"n,omitempty"` // the first memory that was not gone through; 0: there is nothing to go through
	Last    Seq       `msgpack:"l,omitempty"` // without Pending: the last that may have a vector of a former embedder
	Pending *Embedder `msgpack:"p,omitempty"` // the embedder that it changes to; its vectors are gathered in the table of the next epoch
	Changes uint32    `msgpack:"c,omitempty"` // counts the changes that were begun, and those that were ended before they were whole
}

func (e *Embedder) String() string {
	switch {
	case e == nil:
		return "nothing"
	case *e == NoEmbedder:
		return "none"
	}
	return fmt.Sprintf("%s/%s (%d dimensions)", e.Name, e.Version, e.Dim)
}
