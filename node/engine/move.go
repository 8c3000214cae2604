package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// mostMoved bounds the memories of a move, which is one entry of the log.
const mostMoved = 1000

// move moves memories to another namespace, all or none.
func (s *Service) move(ctx context.Context, c api.Caller, q *api.MoveRequest) (*api.Moved, error) {
	to := strings.TrimSpace(q.To)
	if to == "" || (q.RID == "") == (q.Prefix == "") {
		return nil, oplog.Errorf(oplog.Invalid, "name what to move in one way, rid or prefix, and the namespace to move it to")
	}
	if q.Expected != nil && q.RID == "" {
		return nil, oplog.Errorf(oplog.Invalid, "expected_revision: it is of one memory: name that by rid")
	}
	if err := cmp.Or(oplog.CheckNames(to), checkSize("reason", len(q.Reason), MaxReason), checkMovable(to)); err != nil {
		return nil, err
	}
	asks := write{key: q.Key, digest: digest("move", to, q.RID, q.Prefix, q.Namespace, q.Reason, deref(q.Expected))}
	for range maxKeyTries {
		if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
			return nil, err
		}
		w := asks
		moved, err := s.moveOps(c, q, to, &w)
		if err != nil {
			return nil, err
		}
		done, err := s.propose(ctx, c, w)
		switch {
		case errors.Is(err, oplog.ErrRevision) && q.Expected != nil:
			return nil, s.revisionConflict(c.DB, q.RID, *q.Expected, err)
		case errors.Is(err, oplog.ErrRevision), errors.Is(err, oplog.ErrNoMemory) && q.RID == "": // corrected, forgotten or expired since it was read
			continue
		case err != nil:
			return nil, keyConflict(c, err)
		}
		if done.Replayed { // the first request moved them: now there is nothing below the key any more
			moved = nil
			for _, r := range done.Then {
				if r.Changed && r.ID != "" {
					moved = append(moved, r.ID)
				}
			}
		}
		return &api.Moved{Moved: len(moved), RIDs: api.OrEmpty(moved), To: to, Index: field.Token(done.Index)}, nil
	}
	return nil, oplog.Errorf(oplog.Unavailable, "other clients correct the same memories all the time; retry")
}

// checkMovable rejects namespaces whose memories belong to the clients of one protocol.
func checkMovable(namespace string) error {
	if namespace == oplog.CovenantNamespace || namespace == oplog.Mem0Namespace || strings.HasPrefix(namespace, oplog.EventPrefix) {
		return oplog.Errorf(oplog.Invalid,
			"memories of namespace %q belong to the clients of one protocol: nothing is moved there or away", namespace)
	}
	return nil
}

// moveOps returns the operations of a move: for each memory the expected revision, and its correction.
func (s *Service) moveOps(c api.Caller, q *api.MoveRequest, to string, w *write) (rids []string, err error) {
	at := oplog.At(s.now())
	return rids, s.state.Read(func(v *state.View) error {
		list, err := memoriesToMove(v, c.DB, q)
		if err != nil {
			return err
		}
		if len(list) == 0 && q.Key != "" { // the key may have an answer
			w.ops = []oplog.Op{&oplog.Keyed{Namespace: orDefault(q.Namespace), Path: folderOf(q.Prefix)}}
		}
		for _, m := range list {
			w.ops = append(w.ops, &oplog.Expect{RID: m.RID, Revision: api.OrOld(q.Expected, m.Revision)})
			if m.Namespace == to {
				continue
			}
			if err := checkMovable(m.Namespace); err != nil {
				return err
			}
			reason := cmp.Or(q.Reason, fmt.Sprintf("moved from %s to %s", m.Namespace, to))
			op := &oplog.Correct{RID: m.RID, Place: oplog.Place{Namespace: &to}, Reason: reason, At: at}
			if !m.Unsearchable { // claims are of a namespace: its text states them there
				_, _, op.Claims = readText(v, c, m.Text)
			}
			rids, w.ops = append(rids, m.RID), append(w.ops, op)
		}
		return nil
	})
}

// memoriesToMove returns the memories that a move names.
func memoriesToMove(v *state.View, db oplog.DB, q *api.MoveRequest) (list []*oplog.Memory, err error) {
	if q.RID != "" {
		m, ok := v.Memory(db, q.RID)
		switch {
		case !ok || m.Status == oplog.Tombstoned:
			return nil, oplog.ErrNoMemory
		case m.Status == oplog.Quarantined:
			return nil, errHeld(m.RID)
		case m.Status != oplog.Active:
			return nil, oplog.Errorf(oplog.Conflict, "memory %s was merged or split, into %s: move that", m.RID,
				strings.Join(productsOf(m), ", "))
		}
		return []*oplog.Memory{m}, nil
	}
	space, folder := orDefault(q.Namespace), folderOf(q.Prefix)
	if err := checkKey(folder); err != nil {
		return nil, err
	}
	if m, ok := v.Keyed(db, space, folder); ok {
		list = append(list, m)
	}
	v.Keys(db, space, folder+"/", "", 0, func(_ string, m *oplog.Memory) bool {
		list = append(list, m)
		return len(list) <= mostMoved
	})
	if len(list) > mostMoved {
		return nil, oplog.Errorf(oplog.TooLarge, "more than %d memories have a key below %s: move a deeper key", mostMoved, q.Prefix)
	}
	return list, nil
}

func folderOf(prefix string) string { return strings.TrimSuffix(prefix, "/") }
