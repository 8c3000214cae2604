package state

import "github.com/cairndb/cairn/oplog"

// applyPartition stores how a database's vectors are divided. It rejects centroids that were learned from another
// embedder's vectors, or before the last purge: a centroid is a mean of vectors and reveals what they were about.
func applyPartition(a *entryTxn, op *oplog.Partition) oplog.Result {
	d := a.database()
	p := op.Partitions
	rejectf(p.Epoch != a.Embedding(a.db).Epoch || p.Dim != d.Dim, oplog.Conflict,
		"partitions were learned from vectors that database %s no longer has", d.Name)
	rejectf(op.At < d.Purged, oplog.Conflict, "partitions of database %s were learned before the last purge", d.Name)
	if err := p.Check(); err != nil {
		reject(err)
	}
	write(a.txn, tPartitions, a.db, keySelf, &p)
	return oplog.Result{Changed: true}
}

// dropPartitions removes the partitions: searches compare all vectors until new ones are learned.
func (a *entryTxn) dropPartitions() { a.del(tPartitions, a.db, keySelf) }

// Partitions returns how a database's vectors are divided.
func (v *View) Partitions(db oplog.DB) oplog.Partitions {
	return load[oplog.Partitions](v.txn, tPartitions, db, keySelf)
}
