package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// audited are the operations that change what the cluster is rather than what it remembers. Each goes into the log
// together with who asked for it.
var audited = map[oplog.OpKind]func(*Service, Caller, oplog.Op) (on, how string){
	oplog.KindCreateDB: func(_ *Service, _ Caller, op oplog.Op) (on, how string) { return op.(*oplog.CreateDB).Name, "" },
	oplog.KindDropDB:   func(_ *Service, _ Caller, op oplog.Op) (on, how string) { return op.(*oplog.DropDB).Name, "" },
	oplog.KindCreateToken: func(s *Service, _ Caller, op oplog.Op) (on, how string) {
		t := op.(*oplog.CreateToken)
		how = fmt.Sprintf("database %s, label %q, scopes %s", s.databaseName(t.DB), t.Label, orDefault(t.Scopes))
		if t.Expires != 0 {
			how += ", until " + t.Expires.Time().UTC().Format(time.DateTime)
		}
		return t.Hash[:hashPrefix], how
	},
	oplog.KindRevokeToken: func(s *Service, _ Caller, op oplog.Op) (on, how string) {
		hash := op.(*oplog.RevokeToken).Hash
		return hash[:hashPrefix], fmt.Sprintf("label %q", s.tokenLabel(hash))
	},
	oplog.KindSetQuota: func(s *Service, _ Caller, op oplog.Op) (on, how string) {
		q := op.(*oplog.SetQuota)
		return s.databaseName(q.DB), fmt.Sprintf("max_memories %d", q.MaxMemories)
	},
	oplog.KindSetLimit: func(s *Service, _ Caller, op oplog.Op) (on, how string) {
		l := op.(*oplog.SetLimit)
		how = fmt.Sprintf("max_rps %d, burst %d, max_batch_size %d", l.Limit.PerSecond, l.Limit.Burst, l.Limit.Batch)
		if l.Token != "" {
			return l.Token[:hashPrefix], how
		}
		return s.databaseName(l.DB), how
	},
	oplog.KindSetSettings: func(_ *Service, c Caller, _ oplog.Op) (on, how string) { return c.Database, "" },
	oplog.KindPurge: func(_ *Service, c Caller, op oplog.Op) (on, how string) {
		return c.Database, "before " + op.(*oplog.Purge).Before.Time().UTC().Format(time.DateTime)
	},
}

func orDefault(scopes []string) string {
	if len(scopes) == 0 {
		return "read, write"
	}
	return strings.Join(scopes, ", ")
}

// audit is the operations with a word about who asked for them, where they are of a kind that is written down.
func (s *Service) audit(c Caller, ops []oplog.Op) []oplog.Op {
	if c.By == byNode {
		return ops // nobody asked
	}
	out := ops
	for _, op := range ops {
		if describe := audited[op.Kind()]; describe != nil {
			on, how := describe(s, c, op)
			out = append(out[:len(out):len(out)], s.auditOf(c, op.Kind().String(), on, how))
		}
	}
	return out
}

func (s *Service) auditOf(c Caller, what, on, how string) *oplog.Audit {
	return &oplog.Audit{By: c.who(), Label: c.Label, What: what, On: on, How: how, Node: s.cfg.NodeID, At: oplog.At(time.Now())}
}

// noteTimeout bounds what a change of members waits for its word: there may be nobody to take it.
const noteTimeout = 3 * time.Second

// note writes down what was done outside the log of operations: who belongs to the cluster. It is done by then, so what
// cannot be written down is told to the operator alone.
func (s *Service) note(ctx context.Context, c Caller, what, on, how string) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	c.Forward = true
	if _, err := s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{s.auditOf(c, what, on, how)}}); err != nil {
		s.log.Warn("not in the audit", "change", what, "err", err)
	}
}

// Audits are the newest changes of the control plane, newest first. Whoever may not administer the cluster sees none.
func (s *Service) Audits(ctx context.Context, c Caller, f Freshness, most int) (rows []oplog.AuditRow, err error) {
	if !c.May(Admin) {
		return nil, noScope(Admin)
	}
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		rows = v.Audits(most)
		return nil
	})
	return rows, err
}

func (s *Service) databaseName(id oplog.DB) (name string) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state knows none
		d, _ := v.Database(id)
		name = d.Name
		return nil
	})
	return name
}

func (s *Service) tokenLabel(hash string) (label string) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state knows none
		t, _ := v.Token(hash)
		label = t.Label
		return nil
	})
	return label
}
