package oplog

// Partition divides the vectors of the entry's database by centroids that the leader has learned of them, so that a question compares
// those of some partitions only. It is refused when the vectors are not those it was learned of any more.
type Partition struct {
	Partitions Partitions `msgpack:"p"`
	At         Index      `msgpack:"i"` // up to which record the vectors are that it was learned of
}

// PartitionCount is into how many partitions a database's vectors are divided.
const PartitionCount = 256

// Partitions say how a database's vectors are divided. The zero value is that they are not.
type Partitions struct {
	Epoch     uint32 `msgpack:"e,omitempty"` // Embedding.Epoch of the embedder that made the vectors
	Dim       uint32 `msgpack:"d"`
	Rows      uint64 `msgpack:"n"`           // vectors they were learned of
	Probe     uint32 `msgpack:"b,omitempty"` // partitions that a question looks at; 0: all vectors are compared
	Least     uint32 `msgpack:"l,omitempty"` // rows that a question with filters looks at as well, of those that pass
	Centroids []byte `msgpack:"c,omitempty"` // PartitionCount times Dim numbers of 8 bits with a sign; none if Probe is 0
}
