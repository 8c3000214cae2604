package state

import (
	"bytes"

	"github.com/cairndb/cairn/oplog"
)

func applyInit(a *entryTxn, op *oplog.Init) oplog.Result {
	if v := a.get(tControl, 0, []byte("cluster")); v != nil {
		return oplog.Result{ID: string(v)}
	}
	a.put(tControl, 0, []byte("cluster"), []byte(op.Cluster))
	a.createDatabase("default", 0, op.At)
	return oplog.Result{ID: op.Cluster, Changed: true}
}

func applyCreateDB(a *entryTxn, op *oplog.CreateDB) oplog.Result {
	rejectf(!oplog.ValidDatabaseName(op.Name), oplog.Invalid, oplog.DatabaseNameRule)
	// "default" is number 1
	rejectf(!a.exists(tControl, 0, []byte("cluster")), oplog.Invalid, "a database cannot be made before the cluster's first entry")
	other, known := a.databaseNamed(op.Name)
	rejectf(known && other.Name == op.Name, oplog.Conflict, "database '%s' already exists", op.Name)
	rejectf(known, oplog.Conflict, "database '%s' exists, which differs from '%s' by case alone", other.Name, op.Name)
	rejectf(op.Most > 0 && beUint64(a.get(tControl, 0, madeByKey(op.By))) >= uint64(op.Most), oplog.OverQuota,
		"would exceed database quota: the tokens of this database may have made %d", op.Most)
	return oplog.Result{ID: op.Name, Num: uint64(a.createDatabase(op.Name, op.By, op.At)), Changed: true}
}

// databaseNamed finds a database by name, ignoring case.
func (t *txn) databaseNamed(name string) (d oplog.Database, ok bool) {
	id := t.get(tDatabaseName, 0, []byte(oplog.FoldDatabaseName(name)))
	if id == nil {
		return d, false
	}
	return read[oplog.Database](t, tDatabase, 0, id)
}

// madeByKey returns the key of the number of existing databases that the tokens of a database have made.
func madeByKey(by oplog.DB) []byte { return append([]byte("made-by "), be64(uint64(by))...) }

func (a *entryTxn) countMade(by oplog.DB, n int) {
	if by != 0 {
		a.put(tControl, 0, madeByKey(by), be64(beUint64(a.get(tControl, 0, madeByKey(by)))+uint64(n)))
	}
}

func (a *entryTxn) createDatabase(name string, by oplog.DB, at oplog.Time) oplog.DB {
	id := oplog.DB(1)
	if v := a.get(tControl, 0, []byte("next-db")); v != nil {
		id = oplog.DB(beUint64(v))
	}
	a.put(tControl, 0, []byte("next-db"), be64(uint64(id)+1))
	a.put(tDatabaseName, 0, []byte(oplog.FoldDatabaseName(name)), be64(uint64(id)))
	a.countMade(by, +1)
	a.setDatabase(oplog.Database{ID: id, Name: name, Created: at, By: by})
	return id
}

func applyDropDB(a *entryTxn, op *oplog.DropDB) oplog.Result {
	rejectf(!a.onlyChange, oplog.Invalid, "an entry that drops a database holds nothing else")
	d, ok := a.databaseNamed(op.Name)
	rejectIf(!ok || d.Name != op.Name, oplog.ErrNoDatabase)
	id := d.ID
	rejectf(id == oplog.DefaultDB, oplog.Invalid, "database 'default' cannot be dropped")
	if uint64(d.Purged) > beUint64(a.get(tControl, 0, keyPurgedGone)) {
		a.put(tControl, 0, keyPurgedGone, be64(uint64(d.Purged)))
	}
	a.writeCounts(func(db oplog.DB) bool { return db == id }) // now, so that its rows do not depend on the batch
	a.del(tDatabaseName, 0, []byte(oplog.FoldDatabaseName(op.Name)))
	a.del(tDatabase, 0, be64(uint64(id)))
	a.countMade(d.By, -1)
	for _, v := range a.scan(tToken, 0, nil) {
		if t := decode[oplog.Token](v); t.DB == id && t.Revoked == 0 {
			a.revokeToken(t, op.At)
		}
	}
	a.del(tLimit, 0, databaseLimit(id))
	a.put(tDropped, 0, be64(uint64(id)), be64(uint64(a.index)))
	delete(a.embeddings, id)
	a.expiry[id] = 0
	a.cache.clear()
	return oplog.Result{ID: op.Name, Num: uint64(id), Changed: true}
}

// The bounds of one Erase, and so of the cost of an entry.
const (
	eraseRows  = 2000
	eraseBytes = 4 << 20
)

func applyErase(a *entryTxn, _ *oplog.Erase) (r oplog.Result) {
	row, _ := first(a.scan(tDropped, 0, nil))
	if row == nil {
		return r
	}
	r.Changed = true
	db, size := oplog.DB(beUint64(row)), 0
	all := span{lower: appendRow(nil, 0, db, nil), upper: appendRow(nil, 0, db+1, nil)}
	for key, v := range a.walk(all, false) {
		if r.Num == eraseRows || size > eraseBytes {
			return r
		}
		table, _, k, _ := rowOf(key)
		a.change(table, db, bytes.Clone(k), bytes.Clone(v), nil, false)
		r.Num++
		size += len(key) + len(v)
	}
	a.del(tDropped, 0, row)
	return r
}

// Erasing reports whether rows of dropped databases are left.
func (v *View) Erasing() bool { return v.has(tDropped, 0, nil) }

func applySetQuota(a *entryTxn, op *oplog.SetQuota) oplog.Result {
	d, ok := read[oplog.Database](a.txn, tDatabase, 0, be64(uint64(op.DB)))
	rejectIf(!ok, oplog.ErrNoDatabase)
	d.MaxMemories = op.MaxMemories
	a.setDatabase(d)
	return oplog.Result{Num: uint64(op.DB), Changed: true}
}

func applyAdvertise(a *entryTxn, op *oplog.Advertise) oplog.Result {
	write(a.txn, tNode, 0, be64(uint64(op.Node)),
		&oplog.NodeInfo{ID: op.Node, Wire: op.Wire, HTTP: op.HTTP, Peer: op.Peer, Version: op.Version, Key: op.Key})
	return oplog.Result{Num: uint64(op.Node), Changed: true}
}

// database returns the entry's database.
func (a *entryTxn) database() oplog.Database {
	row := a.databaseRow(a.db)
	if row == nil {
		panic("state: an entry of a database that is not there was admitted")
	}
	return decode[oplog.Database](row)
}

func (a *entryTxn) setDatabase(d oplog.Database) { write(a.txn, tDatabase, 0, be64(uint64(d.ID)), &d) }

// Cluster returns the cluster's id; empty before the first entry.
func (v *View) Cluster() string { return string(v.get(tControl, 0, []byte("cluster"))) }

// Database finds a database by its number.
func (v *View) Database(id oplog.DB) (oplog.Database, bool) {
	return read[oplog.Database](v.txn, tDatabase, 0, be64(uint64(id)))
}

// DatabaseNamed finds a database by its name.
func (v *View) DatabaseNamed(name string) (oplog.Database, bool) {
	d, ok := v.databaseNamed(name)
	if !ok || d.Name != name {
		return oplog.Database{}, false
	}
	return d, true
}

// Databases returns all databases by number.
func (v *View) Databases() []oplog.Database { return list[oplog.Database](v.txn, tDatabase, 0, nil) }

// Nodes returns the addresses that the nodes have advertised, by node number.
func (v *View) Nodes() []oplog.NodeInfo { return list[oplog.NodeInfo](v.txn, tNode, 0, nil) }
