package state

import "github.com/cairndb/cairn/oplog"

// maxAudits bounds the audit rows that are kept: enough for years of an ordinary cluster.
const maxAudits = 10_000

var auditLast = []byte("audits") // of tControl: the number of audits ever written

func applyAudit(a *entryTxn, op *oplog.Audit) oplog.Result {
	n := a.next(tControl, 0, auditLast)
	write(a.txn, tAudit, 0, be64(n), &oplog.AuditRow{Audit: *op, Index: a.index})
	if n > maxAudits {
		a.del(tAudit, 0, be64(n-maxAudits))
	}
	return oplog.Result{Num: n, Changed: true}
}

// Audits returns at most most audits, the newest first.
func (v *View) Audits(most int) (rows []oplog.AuditRow) {
	for _, val := range v.scanBack(tAudit, 0, nil) {
		if len(rows) >= most {
			break
		}
		rows = append(rows, decode[oplog.AuditRow](val))
	}
	return rows
}
