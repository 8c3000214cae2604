package state

import (
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// An applier applies the operations of one kind.
type applier struct {
	kind  oplog.OpKind
	apply func(*entryTxn, oplog.Op) oplog.Result
}

// controlOps lists the operations that need no database.
var controlOps = byKind(
	wrap(applyInit), wrap(applyCreateDB), wrap(applyDropDB), wrap(applyErase), wrap(applyCreateToken), wrap(applyCreateBound),
	wrap(applyRevokeToken), wrap(applySetQuota),
	wrap(applyConsent), wrap(applyRenew), wrap(applyAdvertise), wrap(applySetLimit), wrap(applyAudit), wrap(applyUses),
)

// databaseOps lists the operations on a database.
var databaseOps = byKind(
	wrap(applyRemember), wrap(applyCorrect), wrap(applyForget), wrap(applyReinforce), wrap(applyExpect), wrap(applySweep),
	wrap(applyKeyed), wrap(applyRecast), wrap(applyTakeBack), wrap(applyRelate), wrap(applyUnrelate),
	wrap(applyClaim), wrap(applyAlias), wrap(applyAssert), wrap(applyStated), wrap(applyLinked), wrap(applyHandOn), wrap(applySupersede),
	wrap(applySessionStart), wrap(applySessionEnd), wrap(applyAbandon), wrap(applyEvent), wrap(applyEventMark), wrap(applyIdentity),
	wrap(applyReceipt), wrap(applyGrant), wrap(applyRevoke), wrap(applyPurgeGrants), wrap(applyCognition), wrap(applyResolve),
	wrap(applyTriggerMove), wrap(applyFeedback), wrap(applySetSettings), wrap(applyPurge), wrap(applySetEmbedder), wrap(applyForeign),
	wrap(applyRebind), wrap(applyEmbed), wrap(applyPartition),
)

// wrap makes f an applier of its operation's kind. Kind reads no field, so a nil operation has a kind.
func wrap[O oplog.Op](f func(*entryTxn, O) oplog.Result) applier {
	var none O
	return applier{none.Kind(), func(a *entryTxn, op oplog.Op) oplog.Result { return f(a, op.(O)) }}
}

func byKind(list ...applier) (table [1 << 8]func(*entryTxn, oplog.Op) oplog.Result) {
	for _, c := range list {
		table[c.kind] = c.apply
	}
	return table
}

// applyOp applies one operation of an entry. A rejection is an *Error, and undoes everything that the entry has
// written.
//
// Invariant: every operation passes oplog.Check here, whoever sent it. The code that stores a vector compares its
// dimension with the database's.
//
// Invariant: the entry's database exists while the entry is applied. admit has checked it, and an entry that drops a
// database holds nothing else.
func applyOp(a *entryTxn, op oplog.Op) oplog.Result {
	if err := oplog.Check(op); err != nil {
		reject(err)
	}
	if f := controlOps[op.Kind()]; f != nil {
		return f(a, op)
	}
	rejectIf(a.db == 0, oplog.ErrNoDatabase)
	f := databaseOps[op.Kind()]
	if f == nil {
		panic(fmt.Sprintf("state: nothing applies %T", op))
	}
	return f(a, op)
}
