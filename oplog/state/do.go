package state

import (
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// do makes the change of an operation inside an entry. A refusal is an *Error and leaves no trace: what the entry had written so far
// is undone.
//
// Invariant: the entry's database is there as long as the entry is applied: admit has looked, and one that is dropped is dropped alone.
func do(a *applying, op oplog.Op) (oplog.Result, *oplog.Error) {
	switch op := op.(type) { // of the control plane
	case *oplog.Init:
		return applyInit(a, op)
	case *oplog.CreateDB:
		return applyCreateDB(a, op)
	case *oplog.DropDB:
		return applyDropDB(a, op)
	case *oplog.CreateToken:
		return applyCreateToken(a, op)
	case *oplog.RevokeToken:
		return applyRevokeToken(a, op)
	case *oplog.SetQuota:
		return applySetQuota(a, op)
	case *oplog.Advertise:
		return applyAdvertise(a, op)
	case *oplog.SetLimit:
		return applySetLimit(a, op)
	case *oplog.Audit:
		return applyAudit(a, op)
	case *oplog.Uses:
		return applyUses(a, op)
	}
	if a.db == 0 {
		return oplog.Result{}, oplog.ErrNoDatabase
	}
	switch op := op.(type) {
	case *oplog.Remember:
		return applyRemember(a, op)
	case *oplog.Correct:
		return applyCorrect(a, op)
	case *oplog.Forget:
		return applyForget(a, op)
	case *oplog.Reinforce:
		return applyReinforce(a, op)
	case *oplog.Relate:
		return applyRelate(a, op)
	case *oplog.Unrelate:
		return applyUnrelate(a, op)
	case *oplog.Claim:
		return applyClaim(a, op)
	case *oplog.Alias:
		return applyAlias(a, op)
	case *oplog.Assert:
		return applyAssert(a, op)
	case *oplog.Stated:
		return applyStated(a, op)
	case *oplog.Linked:
		return applyLinked(a, op)
	case *oplog.HandOn:
		return applyHandOn(a, op)
	case *oplog.SessionStart:
		return applySessionStart(a, op)
	case *oplog.SessionEnd:
		return applySessionEnd(a, op)
	case *oplog.Abandon:
		return applyAbandon(a, op)
	case *oplog.Event:
		return applyEvent(a, op)
	case *oplog.EventMark:
		return applyEventMark(a, op)
	case *oplog.Identity:
		return applyIdentity(a, op)
	case *oplog.Receipt:
		return applyReceipt(a, op)
	case *oplog.Grant:
		return applyGrant(a, op)
	case *oplog.Revoke:
		return applyRevoke(a, op)
	case *oplog.PurgeGrants:
		return applyPurgeGrants(a, op)
	case *oplog.Cognition:
		return applyCognition(a, op)
	case *oplog.Resolve:
		return applyResolve(a, op)
	case *oplog.TriggerMove:
		return applyTriggerMove(a, op)
	case *oplog.Feedback:
		return applyFeedback(a, op)
	case *oplog.SetSettings:
		return applySetSettings(a, op)
	case *oplog.Purge:
		return applyPurge(a, op)
	case *oplog.SetEmbedder:
		return applySetEmbedder(a, op)
	case *oplog.Foreign:
		return applyForeign(a, op)
	case *oplog.Rebind:
		return applyRebind(a, op)
	case *oplog.Embed:
		return applyEmbed(a, op)
	default:
		panic(fmt.Sprintf("state: nothing applies %T", op))
	}
}
