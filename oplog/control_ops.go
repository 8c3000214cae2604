package oplog

import "regexp"

// Init is the first entry of a cluster: it names it and makes the database "default". A second one changes nothing.
type Init struct {
	Cluster string `msgpack:"id"`
	At      Time   `msgpack:"at"`
}

// CreateDB makes a database; its number is assigned here.
type CreateDB struct {
	Name string `msgpack:"n"`
	At   Time   `msgpack:"at"`
	By   DB     `msgpack:"b,omitempty"` // the database whose token asked for it; 0 for an administrator
	Most uint32 `msgpack:"m,omitempty"` // databases that By's tokens may have made, this one included; 0: no bound
}

// DropDB removes a database with all that is in it.
type DropDB struct {
	Name string `msgpack:"n"`
	At   Time   `msgpack:"at"`
}

// CreateToken lets the holder of a token into a database. Only the SHA-256 of the token is known here.
type CreateToken struct {
	Hash    string   `msgpack:"h"` // lower-case hex SHA-256 of the whole token text
	DB      DB       `msgpack:"d"`
	Label   string   `msgpack:"l,omitempty"`
	Scopes  []string `msgpack:"s,omitempty"` // empty means read and write
	Expires Time     `msgpack:"x,omitempty"` // 0: never
	At      Time     `msgpack:"at"`
}

// RevokeToken ends a token for good.
type RevokeToken struct {
	Hash string `msgpack:"h"`
	At   Time   `msgpack:"at"`
}

// SetQuota bounds a database.
type SetQuota struct {
	DB          DB     `msgpack:"d"`
	MaxMemories uint64 `msgpack:"m"` // 0: no bound
}

// Advertise publishes where a node's clients find it.
type Advertise struct {
	Node    uint32 `msgpack:"n"`
	Wire    string `msgpack:"w"`
	HTTP    string `msgpack:"h"`
	Peer    string `msgpack:"p"`
	Version string `msgpack:"v"`
	Key     string `msgpack:"k,omitempty"` // the public key of the node's home, in hex
}

var controlFamily = family{
	{KindInit, "init", func() Op { return new(Init) }},
	{KindCreateDB, "create_database", func() Op { return new(CreateDB) }},
	{KindDropDB, "drop_database", func() Op { return new(DropDB) }},
	{KindCreateToken, "create_token", func() Op { return new(CreateToken) }},
	{KindRevokeToken, "revoke_token", func() Op { return new(RevokeToken) }},
	{KindSetQuota, "set_quota", func() Op { return new(SetQuota) }},
	{KindAdvertise, "advertise", func() Op { return new(Advertise) }},
}

// Kind implements Op.
func (*Init) Kind() OpKind { return KindInit }

// Kind implements Op.
func (*CreateDB) Kind() OpKind { return KindCreateDB }

// Kind implements Op.
func (*DropDB) Kind() OpKind { return KindDropDB }

// Kind implements Op.
func (*CreateToken) Kind() OpKind { return KindCreateToken }

// Kind implements Op.
func (*RevokeToken) Kind() OpKind { return KindRevokeToken }

// Kind implements Op.
func (*SetQuota) Kind() OpKind { return KindSetQuota }

// Kind implements Op.
func (*Advertise) Kind() OpKind { return KindAdvertise }

var databaseName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// ValidDatabaseName says whether a database may bear the name.
func ValidDatabaseName(name string) bool { return databaseName.MatchString(name) }

func (op *Init) apply(a *applying) (Result, *Error) {
	if v := a.get(tControl, 0, []byte("cluster")); v != nil {
		return Result{ID: string(v)}, nil
	}
	a.put(tControl, 0, []byte("cluster"), []byte(op.Cluster))
	a.createDatabase("default", 0, op.At)
	return Result{ID: op.Cluster, Changed: true}, nil
}

func (op *CreateDB) apply(a *applying) (Result, *Error) {
	if !ValidDatabaseName(op.Name) {
		return Result{}, Errorf(Invalid, "database name must be 1 to 64 of A-Z a-z 0-9 . _ - and not start with a dot")
	}
	if a.get(tControl, 0, []byte("cluster")) == nil {
		return Result{}, Errorf(Invalid, "the cluster's first entry comes before its databases") // "default" is number 1
	}
	if a.get(tDatabaseName, 0, []byte(op.Name)) != nil {
		return Result{}, Errorf(Conflict, "database '%s' already exists", op.Name)
	}
	if op.Most > 0 && a.databasesBy(op.By) >= op.Most {
		return Result{}, Errorf(TooLarge, "would exceed database quota: the tokens of this database may have made %d", op.Most)
	}
	return Result{ID: op.Name, Num: uint64(a.createDatabase(op.Name, op.By, op.At)), Changed: true}, nil
}

// databasesBy counts the databases that tokens of one database have made, and that are still there.
func (a *applying) databasesBy(by DB) (n uint32) {
	a.scan(tDatabase, 0, nil, func(_, v []byte) bool {
		if decode[Database](v).By == by {
			n++
		}
		return true
	})
	return n
}

func (a *applying) createDatabase(name string, by DB, at Time) DB {
	id := DB(1)
	if v := a.get(tControl, 0, []byte("next-db")); v != nil {
		id = DB(beUint64(v))
	}
	a.put(tControl, 0, []byte("next-db"), be64(uint64(id)+1))
	a.put(tDatabaseName, 0, []byte(name), be64(uint64(id)))
	a.setDatabase(Database{ID: id, Name: name, Created: at, By: by})
	return id
}

func (op *DropDB) apply(a *applying) (Result, *Error) {
	if !a.alone {
		return Result{}, Errorf(Invalid, "dropping a database shares its entry with nothing else")
	}
	v := a.get(tDatabaseName, 0, []byte(op.Name))
	if v == nil {
		return Result{}, ErrNoDatabase
	}
	id := DB(beUint64(v))
	if id == DefaultDB {
		return Result{}, Errorf(Invalid, "database 'default' cannot be dropped")
	}
	a.del(tDatabaseName, 0, []byte(op.Name))
	a.del(tDatabase, 0, be64(uint64(id)))
	var tokens []Token
	a.scan(tToken, 0, nil, func(_, v []byte) bool {
		if t := decode[Token](v); t.DB == id && t.Revoked == 0 {
			tokens = append(tokens, t)
		}
		return true
	})
	for _, t := range tokens {
		t.Revoked = op.At
		write(a.txn, tToken, 0, []byte(t.Hash), &t)
		a.del(tLimit, 0, tokenLimit(t.Hash))
	}
	a.del(tLimit, 0, databaseLimit(id))
	a.dropDatabase(id)
	return Result{ID: op.Name, Num: uint64(id), Changed: true}, nil
}

func (op *CreateToken) apply(a *applying) (Result, *Error) {
	if len(op.Hash) != 64 {
		return Result{}, Errorf(Invalid, "a token is known by 64 hex digits")
	}
	if a.get(tDatabase, 0, be64(uint64(op.DB))) == nil {
		return Result{}, ErrNoDatabase
	}
	if a.get(tToken, 0, []byte(op.Hash)) != nil {
		return Result{}, Errorf(Conflict, "this token exists already")
	}
	write(a.txn, tToken, 0, []byte(op.Hash), &Token{Hash: op.Hash, DB: op.DB, Label: op.Label, Scopes: op.Scopes,
		Expires: op.Expires, Created: op.At})
	return Result{ID: op.Hash, Changed: true}, nil
}

func (op *RevokeToken) apply(a *applying) (Result, *Error) {
	t, ok := read[Token](a.txn, tToken, 0, []byte(op.Hash))
	if !ok || t.Revoked != 0 {
		return Result{ID: op.Hash}, nil
	}
	t.Revoked = op.At
	write(a.txn, tToken, 0, []byte(op.Hash), &t)
	a.del(tLimit, 0, tokenLimit(op.Hash))
	return Result{ID: op.Hash, Changed: true}, nil
}

func (op *SetQuota) apply(a *applying) (Result, *Error) {
	d, ok := read[Database](a.txn, tDatabase, 0, be64(uint64(op.DB)))
	if !ok {
		return Result{}, ErrNoDatabase
	}
	d.MaxMemories = op.MaxMemories
	a.setDatabase(d)
	return Result{Num: uint64(op.DB), Changed: true}, nil
}

func (op *Advertise) apply(a *applying) (Result, *Error) {
	write(a.txn, tNode, 0, be64(uint64(op.Node)), &NodeInfo{ID: op.Node, Wire: op.Wire, HTTP: op.HTTP, Peer: op.Peer, Version: op.Version, Key: op.Key})
	return Result{Num: uint64(op.Node), Changed: true}, nil
}
