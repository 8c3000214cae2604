package oplog

// A Limit bounds what a token or a database may ask of each node. 0 is no bound.
type Limit struct {
	PerSecond uint32 `msgpack:"r,omitempty"` // requests
	Burst     uint32 `msgpack:"b,omitempty"` // requests at once; a second's worth when 0
	Batch     uint32 `msgpack:"n,omitempty"` // memories of one request
}

// SetLimit bounds a token, or, without one, a database. The zero limit takes the bound away.
type SetLimit struct {
	Token string `msgpack:"t,omitempty"` // hash
	DB    DB     `msgpack:"d,omitempty"`
	Limit Limit  `msgpack:"l"`
}

var limitFamily = family{
	{KindSetLimit, "set_limit", func() Op { return new(SetLimit) }},
}

// Kind implements Op.
func (*SetLimit) Kind() OpKind { return KindSetLimit }

func tokenLimit(hash string) []byte { return append([]byte("t/"), hash...) }
func databaseLimit(db DB) []byte    { return append([]byte("d/"), dbKey(db)...) }

func (op *SetLimit) apply(a *applying) (Result, *Error) {
	key, id := databaseLimit(op.DB), ""
	if op.Token != "" {
		if a.get(tToken, 0, []byte(op.Token)) == nil {
			return Result{}, ErrNoToken
		}
		key, id = tokenLimit(op.Token), op.Token
	} else if a.get(tDatabase, 0, be64(uint64(op.DB))) == nil {
		return Result{}, ErrNoDatabase
	}
	if op.Limit == (Limit{}) {
		a.del(tLimit, 0, key)
	} else {
		write(a.txn, tLimit, 0, key, &op.Limit)
	}
	return Result{ID: id, Num: uint64(op.DB), Changed: true}, nil
}

// Limits are what is bounded: tokens by hash, databases by number.
type Limits struct {
	Tokens    map[string]Limit
	Databases map[DB]Limit
}

// Limits reads all bounds: there are as many as were set.
func (v *View) Limits() Limits {
	l := Limits{Tokens: map[string]Limit{}, Databases: map[DB]Limit{}}
	v.scan(tLimit, 0, []byte("t/"), func(k, val []byte) bool {
		l.Tokens[string(k[2:])] = decode[Limit](val)
		return true
	})
	for _, d := range v.Databases() {
		if limit, ok := read[Limit](v.txn, tLimit, 0, databaseLimit(d.ID)); ok {
			l.Databases[d.ID] = limit
		}
	}
	return l
}
