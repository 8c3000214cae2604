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

// describers are of the operations that change what the cluster is rather than what it remembers. Each goes into the log
// together with who asked for it.
var describers = map[oplog.OpKind]func(*Control, oplog.DB, oplog.Op) (on, how string){
	oplog.KindCreateDB: func(_ *Control, _ oplog.DB, op oplog.Op) (on, how string) { return op.(*oplog.CreateDB).Name, "" },
	oplog.KindDropDB:   func(_ *Control, _ oplog.DB, op oplog.Op) (on, how string) { return op.(*oplog.DropDB).Name, "" },
	oplog.KindCreateToken: func(a *Control, _ oplog.DB, op oplog.Op) (on, how string) {
		t := op.(*oplog.CreateToken)
		how = fmt.Sprintf("database %s, label %q, scopes %s", a.databaseName(t.DB), t.Label, orDefault(t.Scopes))
		if t.Expires != 0 {
			how += ", until " + t.Expires.Time().UTC().Format(time.DateTime)
		}
		return Prefix(t.Hash), how
	},
	oplog.KindRevokeToken: func(a *Control, _ oplog.DB, op oplog.Op) (on, how string) {
		hash := op.(*oplog.RevokeToken).Hash
		return Prefix(hash), fmt.Sprintf("label %q", a.tokenLabel(hash))
	},
	oplog.KindSetQuota: func(a *Control, _ oplog.DB, op oplog.Op) (on, how string) {
		q := op.(*oplog.SetQuota)
		return a.databaseName(q.DB), fmt.Sprintf("max_memories %d", q.MaxMemories)
	},
	oplog.KindSetLimit: func(a *Control, _ oplog.DB, op oplog.Op) (on, how string) {
		l := op.(*oplog.SetLimit)
		how = fmt.Sprintf("max_rps %d, burst %d, max_batch_size %d", l.Limit.PerSecond, l.Limit.Burst, l.Limit.Batch)
		if l.Token != "" {
			return Prefix(l.Token), how
		}
		return a.databaseName(l.DB), how
	},
	oplog.KindSetSettings: func(a *Control, db oplog.DB, _ oplog.Op) (on, how string) { return a.databaseName(db), "" },
	oplog.KindPurge: func(a *Control, db oplog.DB, op oplog.Op) (on, how string) {
		return a.databaseName(db), "before " + op.(*oplog.Purge).Before.Time().UTC().Format(time.DateTime)
	},
}

func orDefault(scopes []string) string {
	if len(scopes) == 0 {
		return "read, write"
	}
	return strings.Join(scopes, ", ")
}

// An Asker is who asked the leader for a change, and through which node.
type Asker struct {
	wire.Asker
	Node uint32
}

// AskerOf is a caller as it is told to the leader.
func AskerOf(c api.Caller) wire.Asker { return wire.Asker{By: c.Who(), Label: c.Label} }

// maxAsker bounds what another node says of who asked.
const maxAsker = 256

// Audit is the row about a change: what was done, on what, and how.
func (by Asker) Audit(what, on, how string) *oplog.Audit {
	short := func(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxAsker)], "") }
	return &oplog.Audit{By: cmp.Or(short(by.By), api.ByNode), Label: short(by.Label), What: what, On: on, How: how, Node: by.Node, At: oplog.At(time.Now())}
}

// rejoinVerb is how a member that lost its log asks to be brought up to date.
const rejoinVerb = "rejoin"

// Audited splits what the leader proposes: the operations that were asked for, and a row about who asked for each that changes what the
// cluster is. The leader writes the rows, whichever node the entry comes from: that one may bring rows about changes of members, as a
// leader that handed over does, and none about what the leader sees for itself.
func (a *Control) Audited(by Asker, db oplog.DB, ops []oplog.Op) (asked, rows []oplog.Op) {
	asked = slices.DeleteFunc(slices.Clone(ops), func(op oplog.Op) bool {
		row, ok := op.(*oplog.Audit)
		return ok && !slices.Contains(api.MemberVerbs, row.What) && row.What != rejoinVerb
	})
	for _, op := range asked {
		if describe := describers[op.Kind()]; describe != nil {
			on, how := describe(a, db, op)
			rows = append(rows, by.Audit(op.Kind().String(), on, how))
		}
	}
	return asked, rows
}

func (a *Control) databaseName(id oplog.DB) (name string) {
	_ = a.state.Read(func(v *state.View) error { // a closing state knows none
		d, _ := v.Database(id)
		name = d.Name
		return nil
	})
	return name
}

func (a *Control) tokenLabel(hash string) (label string) {
	_ = a.state.Read(func(v *state.View) error { // a closing state knows none
		t, _ := v.Token(hash)
		label = t.Label
		return nil
	})
	return label
}
