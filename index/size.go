package index

import "github.com/cairndb/cairn/oplog"

// A Size is what the index of a database holds in memory.
type Size struct {
	Rows    int // what scoring reads, the dead among them
	Vectors int
}

// Size says how large a database's index is; zero for one that is not open.
func (x *Index) Size(db oplog.DB) (s Size) {
	d := x.database(db)
	if d == nil {
		return s
	}
	s.Rows = int(d.cols.shelf().n)
	if v := d.vectors.Load(); v != nil {
		s.Vectors = v.Len()
	}
	return s
}
