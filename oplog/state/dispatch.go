package state

import (
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// An applier makes the change that operations of one kind ask for.
type applier struct {
	kind  oplog.OpKind
	apply func(*applying, oplog.Op) oplog.Result
}

// controlPlane has the operations that need no database.
var controlPlane = byKind(
	of(applyInit), of(applyCreateDB), of(applyDropDB), of(applyErase), of(applyCreateToken), of(applyCreateBound),
	of(applyRevokeToken), of(applySetQuota),
	of(applyConsent), of(applyRenew), of(applyAdvertise), of(applySetLimit), of(applyAudit), of(applyUses),
)

// memories has those that change one.
var memories = byKind(
	of(applyRemember), of(applyCorrect), of(applyForget), of(applyReinforce), of(applyExpect), of(applySweep),
	of(applyKeyed), of(applyRecast), of(applyTakeBack), of(applyRelate), of(applyUnrelate),
	of(applyClaim), of(applyAlias), of(applyAssert), of(applyStated), of(applyLinked), of(applyHandOn), of(applySupersede),
	of(applySessionStart), of(applySessionEnd), of(applyAbandon), of(applyEvent), of(applyEventMark), of(applyIdentity),
	of(applyReceipt), of(applyGrant), of(applyRevoke), of(applyPurgeGrants), of(applyCognition), of(applyResolve),
	of(applyTriggerMove), of(applyFeedback), of(applySetSettings), of(applyPurge), of(applySetEmbedder), of(applyForeign),
	of(applyRebind), of(applyEmbed), of(applyPartition),
)

// of wraps f as an applier, with its operation's kind. Kind reads no field, so a nil operation has one.
func of[O oplog.Op](f func(*applying, O) oplog.Result) applier {
	var none O
	return applier{none.Kind(), func(a *applying, op oplog.Op) oplog.Result { return f(a, op.(O)) }}
}

func byKind(list ...applier) (table [1 << 8]func(*applying, oplog.Op) oplog.Result) {
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
func applyOp(a *applying, op oplog.Op) oplog.Result {
	if err := oplog.Check(op); err != nil {
		refuse(err)
	}
	if f := controlPlane[op.Kind()]; f != nil {
		return f(a, op)
	}
	refuseIf(a.db == 0, oplog.ErrNoDatabase)
	f := memories[op.Kind()]
	if f == nil {
		panic(fmt.Sprintf("state: nothing applies %T", op))
	}
	return f(a, op)
}
