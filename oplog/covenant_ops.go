package oplog

// Identity makes a key known by a name. The first operator of a database is its operator for ever: a later one is
// refused, and with it the entry, so that of several nodes which start together exactly one decides.
type Identity struct {
	Key      string `msgpack:"k"` // public, as its protocol spells it
	Display  string `msgpack:"d"`
	Operator bool   `msgpack:"o,omitempty"`
	Sealed   []byte `msgpack:"s,omitempty"` // the operator's private key, readable only with the cluster's secret
	At       Time   `msgpack:"at"`
}

// Receipt says what a memory cost. It travels in the entry that stores the memory.
type Receipt struct {
	ID       string `msgpack:"id"`
	Payer    string `msgpack:"p"`
	Resource string `msgpack:"r"`
	Memory   string `msgpack:"m,omitempty"` // rid
	Credits  uint64 `msgpack:"c"`
	At       Time   `msgpack:"at"`
}

// Grant gives a capability. The signature names it; granting it again lifts its revocation.
type Grant struct {
	Signature string `msgpack:"s"`
	Subject   string `msgpack:"u"`
	Action    string `msgpack:"a"`
	Scope     []byte `msgpack:"sc"` // canonical JSON
	GrantedBy string `msgpack:"g"`
	Expires   uint64 `msgpack:"x,omitempty"` // Unix milliseconds; meaningless unless Limited
	Limited   bool   `msgpack:"l,omitempty"`
	Node      uint32 `msgpack:"n"` // where it was asked for
	First     bool   `msgpack:"f,omitempty"`
	At        Time   `msgpack:"at"`
}

// Revoke ends a capability. Only its subject may.
type Revoke struct {
	Signature string `msgpack:"s"`
	Subject   string `msgpack:"u"`
	At        Time   `msgpack:"at"`
}

// PurgeGrants drops capabilities that were revoked before a time.
type PurgeGrants struct {
	Before Time `msgpack:"b"`
	At     Time `msgpack:"at"`
}

var covenantFamily = family{
	{KindIdentity, "identity", func() Op { return new(Identity) }},
	{KindReceipt, "receipt", func() Op { return new(Receipt) }},
	{KindGrant, "grant", func() Op { return new(Grant) }},
	{KindRevoke, "revoke", func() Op { return new(Revoke) }},
	{KindPurgeGrants, "purge_grants", func() Op { return new(PurgeGrants) }},
}

// Kind implements Op.
func (*Identity) Kind() OpKind { return KindIdentity }

// Kind implements Op.
func (*Receipt) Kind() OpKind { return KindReceipt }

// Kind implements Op.
func (*Grant) Kind() OpKind { return KindGrant }

// Kind implements Op.
func (*Revoke) Kind() OpKind { return KindRevoke }

// Kind implements Op.
func (*PurgeGrants) Kind() OpKind { return KindPurgeGrants }

// What the refusals of capabilities say; surfaces compare them.
var (
	ErrHasOperator = &Error{Kind: Conflict, Text: "the database has an operator"}
	ErrNotSubject  = &Error{Kind: Denied, Text: "capability subject does not match authenticated peer"}
)

var operatorKey = []byte("operator")

func (op *Identity) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.Key == "" || op.Display == "" {
		return Result{}, Errorf(Invalid, "an identity needs a key and a name")
	}
	if op.Operator {
		if a.get(tOperator, a.db, operatorKey) != nil {
			return Result{}, ErrHasOperator
		}
		a.put(tOperator, a.db, operatorKey, []byte(op.Key))
	}
	old, had := read[Identity](a.txn, tIdentity, a.db, []byte(op.Key))
	if had && old.Operator && !op.Operator {
		return Result{}, Errorf(Conflict, "this key is the operator's")
	}
	write(a.txn, tIdentity, a.db, []byte(op.Key), op)
	return Result{ID: op.Key, Changed: !had}, nil
}

func (op *Receipt) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.ID == "" || a.get(tReceipt, a.db, []byte(op.ID)) != nil {
		return Result{}, Errorf(Conflict, "receipt id %q is not free", op.ID)
	}
	write(a.txn, tReceipt, a.db, []byte(op.ID), op)
	a.put(tReceiptBy, a.db, append(joinKey(op.Payer, ""), append(timeKey(op.At, 0), op.ID...)...), nil)
	a.put(tReceiptTime, a.db, append(timeKey(op.At, 0), op.ID...), nil)
	if op.Memory != "" {
		a.put(tReceiptOf, a.db, joinKey(op.Memory, op.ID), nil)
	}
	return Result{ID: op.ID, Changed: true}, nil
}

// A StoredGrant is a capability as the state holds it.
type StoredGrant struct {
	Grant
	Number  uint64 `msgpack:"no"` // order of granting
	Revoked Time   `msgpack:"rv,omitempty"`
}

func (op *Grant) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.Signature == "" || op.Subject == "" || op.Action == "" {
		return Result{}, Errorf(Invalid, "a capability needs a subject, an action and a signature")
	}
	old, had := read[StoredGrant](a.txn, tGrant, a.db, []byte(op.Signature))
	if had && old.Revoked == 0 {
		return Result{ID: op.Signature, Num: old.Number}, nil
	}
	if had {
		a.dropGrant(&old)
	}
	g := StoredGrant{Grant: *op, Number: beUint64(a.get(tOperator, a.db, lastGrantKey)) + 1}
	number := be64(g.Number)
	a.put(tOperator, a.db, lastGrantKey, number)
	write(a.txn, tGrant, a.db, []byte(g.Signature), &g)
	a.put(tGrantOrder, a.db, number, []byte(g.Signature))
	a.put(tGrantAction, a.db, append(joinKey(g.Subject, g.Action, ""), number...), []byte(g.Signature))
	a.put(tGrantSubject, a.db, append(joinKey(g.Subject, ""), number...), []byte(g.Signature))
	return Result{ID: g.Signature, Num: g.Number, Changed: true}, nil
}

var lastGrantKey = []byte("last grant")

func (a *applying) dropGrant(g *StoredGrant) {
	number := be64(g.Number)
	a.del(tGrant, a.db, []byte(g.Signature))
	a.del(tGrantOrder, a.db, number)
	a.del(tGrantAction, a.db, append(joinKey(g.Subject, g.Action, ""), number...))
	a.del(tGrantSubject, a.db, append(joinKey(g.Subject, ""), number...))
	if g.Revoked != 0 {
		a.del(tGrantRevoked, a.db, append(timeKey(g.Revoked, 0), g.Signature...))
	}
}

func (op *Revoke) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	g, ok := read[StoredGrant](a.txn, tGrant, a.db, []byte(op.Signature))
	switch {
	case ok && g.Revoked != 0:
		return Result{ID: op.Signature}, nil
	case !ok || g.Subject != op.Subject:
		return Result{}, ErrNotSubject
	}
	g.Revoked = op.At
	write(a.txn, tGrant, a.db, []byte(g.Signature), &g)
	a.put(tGrantRevoked, a.db, append(timeKey(op.At, 0), g.Signature...), nil)
	return Result{ID: g.Signature, Changed: true}, nil
}

func (op *PurgeGrants) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	var gone []StoredGrant
	a.scan(tGrantRevoked, a.db, nil, func(k, _ []byte) bool {
		g, ok := read[StoredGrant](a.txn, tGrant, a.db, k[16:])
		if !ok {
			panic("oplog: revocation without a capability")
		}
		if g.Revoked >= op.Before {
			return false
		}
		gone = append(gone, g)
		return true
	})
	for i := range gone {
		a.dropGrant(&gone[i])
	}
	return Result{Num: uint64(len(gone)), Changed: len(gone) > 0}, nil
}

// TierOf is the tier a memory counts for: longterm unless it names another.
func TierOf(tier string) string {
	switch tier {
	case "working", "episodic":
		return tier
	}
	return "longterm"
}
