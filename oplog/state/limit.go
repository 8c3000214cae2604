package state

import "github.com/cairndb/cairn/oplog"

func tokenLimit(hash string) []byte { return append([]byte("t/"), hash...) }

func databaseLimit(db oplog.DB) []byte { return append([]byte("d/"), dbKey(db)...) }

func applySetLimit(a *entryTxn, op *oplog.SetLimit) oplog.Result {
	key, id := databaseLimit(op.DB), ""
	if op.Token != "" {
		rejectIf(!a.exists(tToken, 0, []byte(op.Token)), oplog.ErrNoToken)
		key, id = tokenLimit(op.Token), op.Token
	} else {
		rejectIf(!a.exists(tDatabase, 0, be64(uint64(op.DB))), oplog.ErrNoDatabase)
	}
	if op.Limit == (oplog.Limit{}) {
		a.del(tLimit, 0, key)
	} else {
		write(a.txn, tLimit, 0, key, &op.Limit)
	}
	return oplog.Result{ID: id, Num: uint64(op.DB), Changed: true}
}

// Limits holds the limits of tokens, by hash, and databases, by number.
type Limits struct {
	Tokens    map[string]oplog.Limit
	Databases map[oplog.DB]oplog.Limit
}

// Limits reads all limits that were set.
func (v *View) Limits() Limits {
	l := Limits{Tokens: map[string]oplog.Limit{}, Databases: map[oplog.DB]oplog.Limit{}}
	for k, val := range v.scan(tLimit, 0, []byte("t/")) {
		l.Tokens[string(k[2:])] = decode[oplog.Limit](val)
	}
	for _, d := range v.Databases() {
		if limit, ok := read[oplog.Limit](v.txn, tLimit, 0, databaseLimit(d.ID)); ok {
			l.Databases[d.ID] = limit
		}
	}
	return l
}
