package state

import (
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// An applier makes the change that operations of one kind ask for.
type applier struct {
	kind  oplog.OpKind
	apply func(*entryTxn, oplog.Op) oplog.Result
}

// controlOps has the operations that need no database.
var controlOps = byKind(
	wrap(applyInit), wrap(applyCreateDB), wrap(applyDropDB), wrap(applyErase), wrap(applyCreateToken), wrap(applyCreateBound),
	wrap(applyRevokeToken), wrap(applySetQuota),
	wrap(applyConsent), wrap(applyRenew), wrap(applyAdvertise), wrap(applySetLimit), wrap(applyAudit), wrap(applyUses),
)

// databaseOps has those that change one.
var databaseOps = byKind(
	wrap(applyRemember), wrap(applyCorrect), wrap(applyForget), wrap(applyReinforce), wrap(applyExpect), wrap(applySweep),
	wrap(applyKeyed), wrap(applyRecast), wrap(applyTakeBack), wrap(applyRelate), wrap(applyUnrelate),
	wrap(applyClaim), wrap(applyAlias), wrap(applyAssert), wrap(applyStated), wrap(applyLinked), wrap(applyHandOn), wrap(applySupersede),
	wrap(applySessionStart), wrap(applySessionEnd), wrap(applyAbandon), wrap(applyEvent), wrap(applyEventMark), wrap(applyIdentity),
	wrap(applyReceipt), wrap(applyGrant), wrap(applyRevoke), wrap(applyPurgeGrants), wrap(applyCognition), wrap(applyResolve),
	wrap(applyTriggerMove), wrap(applyFeedback), wrap(applySetSettings), wrap(applyPurge), wrap(applySetEmbedder), wrap(applyForeign),
	wrap(applyRebind), wrap(applyEmbed), wrap(applyPartition),
)

// wrap wraps f as an applier, with its operation's kind. Kind reads no field, so a nil operation has one.
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

// applyOp makes the change of an operation inside an entry. A rejection is an *Error and leaves no trace: what the
// entry had written so far is undone.
//
// Invariant: every operation passes oplog.Check here, whoever sent it. The code that stores a vector compares its
// dimension with the database's.
//
// Invariant: the entry's database is there as long as the entry is applied: admit has looked, and one that is dropped
// is dropped alone.
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
