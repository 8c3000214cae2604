package oplog

// An Audit says who asked for the operations it shares its entry with, so that both stand or fall together.
type Audit struct {
	By    string `msgpack:"b"`           // the beginning of a token's hash; master, local, or node
	Label string `msgpack:"l,omitempty"` // of the token, at the time
	What  string `msgpack:"w"`           // what was done, in the words of the log
	On    string `msgpack:"o,omitempty"` // to what: a database, the beginning of a token's hash, a node
	How   string `msgpack:"h,omitempty"` // with which values
	Node  uint32 `msgpack:"n"`           // where it was asked for
	At    Time   `msgpack:"at"`
}

// AuditRow is an audit with its place in the log.
type AuditRow struct {
	Audit
	Index Index `msgpack:"i"`
}

// maxAudits is how many are kept: years of an ordinary cluster.
const maxAudits = 10_000

// Uses says when tokens were used last: many at a time, seldom.
type Uses struct {
	Uses []TokenUse `msgpack:"u"`
}

// TokenUse is when a token was used.
type TokenUse struct {
	Hash string `msgpack:"h"`
	At   Time   `msgpack:"at"`
}

var auditFamily = family{
	{KindAudit, "audit", func() Op { return new(Audit) }},
	{KindUses, "token_uses", func() Op { return new(Uses) }},
}

// Kind implements Op.
func (*Audit) Kind() OpKind { return KindAudit }

// Kind implements Op.
func (*Uses) Kind() OpKind { return KindUses }

var auditLast = []byte("audits") // of tControl: how many there ever were

func (op *Audit) apply(a *applying) (Result, *Error) {
	n := beUint64(a.get(tControl, 0, auditLast)) + 1
	a.put(tControl, 0, auditLast, be64(n))
	write(a.txn, tAudit, 0, be64(n), &AuditRow{Audit: *op, Index: a.index})
	if n > maxAudits {
		a.del(tAudit, 0, be64(n-maxAudits))
	}
	return Result{Num: n, Changed: true}, nil
}

func (op *Uses) apply(a *applying) (Result, *Error) {
	var r Result
	for _, u := range op.Uses {
		t, ok := read[Token](a.txn, tToken, 0, []byte(u.Hash))
		if !ok || t.Revoked != 0 || a.used(u.Hash) >= u.At {
			continue
		}
		a.put(tTokenUse, 0, []byte(u.Hash), be64(uint64(u.At)))
		r.Num, r.Changed = r.Num+1, true
	}
	return r, nil
}

func (t *txn) used(hash string) Time { return Time(beUint64(t.get(tTokenUse, 0, []byte(hash)))) }

// TokenUsed is when a token was used last, as far as the cluster was told; 0 for never.
func (v *View) TokenUsed(hash string) Time { return v.used(hash) }

// Audits are the newest audits, newest first.
func (v *View) Audits(most int) (rows []AuditRow) {
	v.scanBack(tAudit, 0, nil, func(_, val []byte) bool {
		if len(rows) >= most {
			return false
		}
		rows = append(rows, decode[AuditRow](val))
		return true
	})
	return rows
}
