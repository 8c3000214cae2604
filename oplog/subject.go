package oplog

// Subject is the id of what an operation is about, for logs and lists: never its content.
func Subject(op Op) string {
	switch op := op.(type) {
	case *Remember:
		return op.RID
	case *Correct:
		return op.RID
	case *Forget:
		return op.RID
	case *Expect:
		return op.RID
	case *Relate:
		return op.ID
	case *Unrelate:
		return op.ID
	case *Claim:
		return op.ID
	case *Assert:
		return op.Claim.ID
	case *SessionStart:
		return op.ID
	case *SessionEnd:
		return op.ID
	case *Event:
		return op.Summary
	case *EventMark:
		return op.Summary
	case *Resolve:
		return op.ID
	case *TriggerMove:
		return op.ID
	case *CreateDB:
		return op.Name
	case *DropDB:
		return op.Name
	case *Audit:
		return op.On
	case *Foreign:
		return op.OpID
	case *Receipt:
		return op.ID
	case *Grant:
		return op.Action
	default:
		return ""
	}
}
