package oplog

// Partition divides the vectors of the entry's database by centroids that the leader has learned of them, so that a
// question compares those of some partitions only. It is rejected when the vectors are not those it was learned of
// any more.
type Partition struct {
	Partitions Partitions `msgpack:"p"`
	At         Index      `msgpack:"i"` // up to which record the vectors are that it was learned of
}

// The most partitions of a database, and the most bytes of their centroids, which must fit in an entry.
const (
	MaxPartitions = 4096
	MaxCentroids  = 4 << 20
)

// Partitions say how a database's vectors are divided. The zero value is that they are not.
type Partitions struct {
	Epoch     uint32 `msgpack:"e,omitempty"` // Embedding.Epoch of the embedder that made the vectors
	Dim       uint32 `msgpack:"d"`
	Rows      uint64 `msgpack:"n"`           // vectors they were learned of
	Groups    []byte `msgpack:"g,omitempty"` // centroids of groups of centroids: a row is compared with those of a few groups
	Centroids []byte `msgpack:"c,omitempty"` // of each partition, Dim numbers of 8 bits with a sign; none: all vectors are compared
	Slack     uint32 `msgpack:"s,omitempty"` // in thousandths of a cosine: how much farther than a row that is wanted a centroid may lie
}

// Count returns the number of partitions; 0 if the vectors are not divided.
func (p *Partitions) Count() int { return len(p.Centroids) / max(1, int(p.Dim)) }

// Check reports whether there are as many centroids as there may be, of the right length.
func (p *Partitions) Check() *Error {
	dim := uint64(max(1, p.Dim))
	parts, groups := uint64(len(p.Centroids)), uint64(len(p.Groups))
	if parts%dim != 0 || groups%dim != 0 || groups > parts || (groups == 0) != (parts == 0) || parts > MaxCentroids ||
		parts/dim > MaxPartitions {
		return Errorf(Invalid, "%d and %d bytes are not the centroids of groups and partitions of %d dimensions", groups, parts, p.Dim)
	}
	return nil
}
