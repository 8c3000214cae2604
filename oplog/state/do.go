package state

import (
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// An applier makes the change that operations of one kind ask for.
type applier struct {
	kind  oplog.OpKind
	apply func(*applying, oplog.Op) (oplog.Result, *oplog.Error)
}

// controlPlane is what changes outside of any database, memories what changes inside of one.
var controlPlane, memories [1 << 8]func(*applying, oplog.Op) (oplog.Result, *oplog.Error)

func init() { // one of them applies what another node wants, and so asks the tables
	controlPlane = byKind(
		of(applyInit), of(applyCreateDB), of(applyDropDB), of(applyCreateToken), of(applyRevokeToken), of(applySetQuota),
		of(applyAdvertise), of(applySetLimit), of(applyAudit), of(applyUses),
	)
	memories = byKind(
		of(applyRemember), of(applyCorrect), of(applyForget), of(applyReinforce), of(applyRelate), of(applyUnrelate),
		of(applyClaim), of(applyAlias), of(applyAssert), of(applyStated), of(applyLinked), of(applyHandOn),
		of(applySessionStart), of(applySessionEnd), of(applyAbandon), of(applyEvent), of(applyEventMark), of(applyIdentity),
		of(applyReceipt), of(applyGrant), of(applyRevoke), of(applyPurgeGrants), of(applyCognition), of(applyResolve),
		of(applyTriggerMove), of(applyFeedback), of(applySetSettings), of(applyPurge), of(applySetEmbedder), of(applyForeign),
		of(applyRebind), of(applyEmbed),
	)
}

// of is the applier that f is. Kind reads nothing of an operation, so that of none at all says which it is.
func of[O oplog.Op](f func(*applying, O) (oplog.Result, *oplog.Error)) applier {
	var none O
	return applier{none.Kind(), func(a *applying, op oplog.Op) (oplog.Result, *oplog.Error) { return f(a, op.(O)) }}
}

func byKind(list ...applier) (table [1 << 8]func(*applying, oplog.Op) (oplog.Result, *oplog.Error)) {
	for _, c := range list {
		table[c.kind] = c.apply
	}
	return table
}

// do makes the change of an operation inside an entry. A refusal is an *Error and leaves no trace: what the entry had written so far
// is undone.
//
// Invariant: the entry's database is there as long as the entry is applied: admit has looked, and one that is dropped is dropped alone.
func do(a *applying, op oplog.Op) (oplog.Result, *oplog.Error) {
	if f := controlPlane[op.Kind()]; f != nil {
		return f(a, op)
	}
	if a.db == 0 {
		return oplog.Result{}, oplog.ErrNoDatabase
	}
	f := memories[op.Kind()]
	if f == nil {
		panic(fmt.Sprintf("state: nothing applies %T", op))
	}
	return f(a, op)
}
