package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire"
)

// describe returns the audit target and details of an operation that changes the cluster, not its memories. Each such
// operation goes into the log together with its caller.
func (a *Control) describe(db oplog.DB, op oplog.Op) (on, how string, audited bool) {
	switch op := op.(type) {
	case *oplog.CreateDB:
		return op.Name, "", true
	case *oplog.DropDB:
		return op.Name, "", true
	case *oplog.CreateBound:
		on, how, audited = a.describe(db, &op.Token)
		return on, how + ", namespaces " + op.Spaces.String(), audited
	case *oplog.Consent:
		made := op.Token
		made.Expires = 0 // Expires is that of the code
		on, how, audited = a.describe(db, &made)
		if op.Spaces.Bind() {
			how += ", namespaces " + op.Spaces.String()
		}
		return on, how, audited
	case *oplog.Renew:
		return Prefix(op.Hash), "the client has redeemed its code", op.Turn == 0
	case *oplog.CreateToken:
		how = fmt.Sprintf("database %s, label %q, scopes %s", a.databaseName(op.DB), op.Label, orDefault(op.Scopes))
		if op.Expires != 0 {
			how += ", until " + op.Expires.Time().UTC().Format(time.DateTime)
		}
		if op.Trust != "" {
			how += ", trust " + op.Trust
		}
		if op.Quarantine != "" {
			how += ", quarantine " + op.Quarantine
		}
		return Prefix(op.Hash), how, true
	case *oplog.RevokeToken:
		label := a.nameOf(func(v *state.View) string { t, _ := v.Token(op.Hash); return t.Label })
		return Prefix(op.Hash), fmt.Sprintf("label %q", label), true
	case *oplog.SetQuota:
		return a.databaseName(op.DB), fmt.Sprintf("max_memories %d", op.MaxMemories), true
	case *oplog.SetLimit:
		if on = Prefix(op.Token); on == "" {
			on = a.databaseName(op.DB)
		}
		return on, fmt.Sprintf("max_rps %d, burst %d, max_batch_size %d", op.Limit.PerSecond, op.Limit.Burst, op.Limit.Batch), true
	case *oplog.SetSettings:
		return a.databaseName(db), "", true
	case *oplog.SetEmbedder:
		return a.databaseName(db), "embedder " + op.Embedder.String(), op.Embedder == oplog.NoEmbedder // first writes set the others
	case *oplog.Rebind:
		return a.databaseName(db), "embedder " + op.Embedder.String(), true
	case *oplog.Purge:
		if op.ForGood() {
			return a.databaseName(db), api.Many(len(op.RIDs), "memory", "memories") + " for good", true
		}
		return a.databaseName(db), "before " + op.Before.Time().UTC().Format(time.DateTime), true
	}
	return "", "", false
}

func orDefault(scopes []string) string {
	if len(scopes) == 0 {
		return "read, write"
	}
	return strings.Join(scopes, ", ")
}

// An Asker names the caller who requested a change, and the node that forwarded the request.
type Asker struct {
	wire.Asker
	Node uint32
}

// AskerOf returns a caller in the form that is sent to the leader.
func AskerOf(c api.Caller) wire.Asker { return wire.Asker{By: c.Who(), Label: c.Label} }

// maxAsker bounds the name and the label of a caller that another node sends.
const maxAsker = 256

// Audit returns the audit row of a change: the kind of change, its target and its details.
func (by Asker) Audit(now time.Time, what, on, how string) *oplog.Audit {
	short := func(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxAsker)], "") }
	return &oplog.Audit{By: cmp.Or(short(by.By), api.ByNode), Label: short(by.Label), What: what, On: on, How: how,
		Node: by.Node, At: oplog.At(now)}
}

// rejoinVerb is the verb with which a member that lost its log requests an update.
const rejoinVerb = "rejoin"

// Audited returns the operations of a proposed entry, and an audit row for each that changes the cluster. The leader
// writes the rows, whichever node the entry comes from. The entry itself may contain rows about changes of members,
// which a former leader adds; Audited drops all other rows.
func (a *Control) Audited(by Asker, db oplog.DB, ops []oplog.Op) (asked, rows []oplog.Op) {
	asked = slices.DeleteFunc(slices.Clone(ops), func(op oplog.Op) bool {
		row, ok := op.(*oplog.Audit)
		return ok && !slices.Contains(api.MemberVerbs, row.What) && row.What != rejoinVerb
	})
	for _, op := range asked {
		if on, how, audited := a.describe(db, op); audited {
			rows = append(rows, by.Audit(a.now(), op.Kind().String(), on, how))
		}
	}
	return asked, rows
}

func (a *Control) databaseName(id oplog.DB) string {
	return a.nameOf(func(v *state.View) string { d, _ := v.Database(id); return d.Name })
}

func (a *Control) nameOf(of func(*state.View) string) string {
	name, _ := state.Get(a.state, of) // "" while the state is closing
	return name
}
