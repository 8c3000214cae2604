package state

import "github.com/cairndb/cairn/oplog"

// applyPartition stores how a database's vectors are divided. Centroids are means of vectors and tell what these were
// about, so those that were learned of vectors that have been purged since, or of another embedder's, are rejected.
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

// dropPartitions has all vectors compared again, until others are learned.
func (a *entryTxn) dropPartitions() { a.del(tPartitions, a.db, keySelf) }

// Partitions say how a database's vectors are divided.
func (v *View) Partitions(db oplog.DB) oplog.Partitions {
	return load[oplog.Partitions](v.txn, tPartitions, db, keySelf)
}
