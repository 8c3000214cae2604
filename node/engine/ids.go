package engine

import (
	"strconv"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

const (
	minIDPrefix   = 4   // characters of an id's beginning
	maxForeignIDs = 256 // ids outside the caller's namespaces that are passed over for one beginning
)

// ids returns the numbers of memories, and the ids for short forms.
func (s *Service) ids(v *state.View, c api.Caller, q *api.IDsRequest) (*api.IDsAnswer, error) {
	a, seen := &api.IDsAnswer{Numbers: []oplog.Seq{}, Full: []api.Begun{}}, c.Reach("")
	for _, rid := range q.RIDs {
		seq, _ := v.Seq(c.DB, rid)
		if m, ok := v.MemoryAt(c.DB, seq); !ok || !seen.Has(m.Namespace) {
			seq = 0
		}
		a.Numbers = append(a.Numbers, seq)
	}
	for _, short := range q.Short {
		a.Full = append(a.Full, api.Begun{RIDs: append([]string{}, resolveShortID(v, c.DB, seen, short)...)})
	}
	return a, nil
}

// resolveShortID returns the ids that a short form stands for. A number always means one memory. The beginning of an
// id may match several; two of them are enough to reject it. A full id stands for itself.
func resolveShortID(v *state.View, db oplog.DB, seen oplog.Reach, short string) (rids []string) {
	if digits, ok := strings.CutPrefix(short, "#"); ok {
		seq, err := strconv.ParseUint(digits, 10, 64)
		if m, ok := v.MemoryAt(db, oplog.Seq(seq)); ok && err == nil && seen.Has(m.Namespace) {
			rids = []string{m.RID}
		}
		return rids
	}
	if m, ok := v.Memory(db, short); ok && seen.Has(m.Namespace) {
		return []string{short}
	}
	if len(short) < minIDPrefix {
		return nil
	}
	foreign := 0
	v.RIDs(db, short, false, func(rid string, seq oplog.Seq) bool {
		if !strings.HasPrefix(rid, short) {
			return false
		}
		if m, ok := v.MemoryAt(db, seq); ok && seen.Has(m.Namespace) {
			rids = append(rids, rid)
		} else {
			foreign++
		}
		return len(rids) < 2 && foreign < maxForeignIDs
	})
	return rids
}
