package mind

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// priorities maps the types of conflicts to their priorities.
var priorities = map[string]oplog.Priority{"identity_fact": oplog.Critical, "preference": oplog.High, "temporal": oplog.High,
	"minor": oplog.Low}

// sourcedFact is a fact and the index of its row.
type sourcedFact struct {
	fact
	row int
}

// maxValues bounds the values of one attribute that may contradict each other. An attribute with more is multi-valued
// in practice.
const maxValues = 4

// MaxConflicts bounds the new conflicts that one round reports.
const MaxConflicts = 500

// Contradictions returns the pairs of memories that contradict each other. The sides are rids, the older one first.
// The caller sets ids and times.
func Contradictions(ctx context.Context, s *Snapshot) ([]oplog.ConflictRow, error) {
	by := map[string][]sourcedFact{}
	var keys []string
	s.frames = map[string]map[string]int{}
	for i := range s.Rows {
		if err := s.pause(ctx, i); err != nil {
			return nil, err
		}
		r := &s.Rows[i]
		if r.Merged || neverMerged[r.Type] && r.Type != "procedural" {
			continue // a merged memory states nothing beyond its sources
		}
		for _, f := range facts(r.Text) {
			s.noteFrame(&f)
			name := s.canonical(r.Namespace, f.name)
			if name != f.name {
				f.subject = strings.ToLower(name)
			}
			key := r.Namespace + "\x00" + f.subject + "\x00" + f.attr
			if by[key] == nil {
				keys = append(keys, key)
			}
			by[key] = append(by[key], sourcedFact{f, i})
		}
	}
	var out []oplog.ConflictRow
	seen := map[[2]int]bool{}
	for n, key := range keys {
		if err := s.pause(ctx, n); err != nil {
			return nil, err
		}
		sure, maybe := contradictingPairs(by[key])
		if s.Minor {
			for i := range maybe {
				maybe[i][0].kind, maybe[i][1].kind = "minor", "minor"
			}
			sure = append(sure, maybe...)
		}
		for _, p := range sure {
			a, b := p[0], p[1]
			pair := [2]int{min(a.row, b.row), max(a.row, b.row)}
			if a.row == b.row || seen[pair] {
				continue
			}
			seen[pair] = true
			if !s.isNew(s.Rows[a.row].RID, s.Rows[b.row].RID) {
				continue
			}
			if out = append(out, s.conflict(a, b)); len(out) == MaxConflicts {
				return out, nil
			}
		}
	}
	return out, nil
}

func (s *Snapshot) conflict(a, b sourcedFact) oplog.ConflictRow {
	if s.Rows[a.row].Created > s.Rows[b.row].Created {
		a, b = b, a
	}
	verb := "contradict"
	if a.kind == "minor" {
		verb = "may contradict each other"
	}
	reason := fmt.Sprintf("%s: %s and %s %s via %s", a.name, quote(a.fact), quote(b.fact), verb, strings.TrimSpace(a.attr))
	return oplog.ConflictRow{Type: a.kind, Priority: priorities[a.kind], A: s.Rows[a.row].RID, B: s.Rows[b.row].RID,
		Entity: a.name, Relation: a.attr, Namespace: s.Rows[a.row].Namespace, Reason: reason}
}

func quote(f fact) string {
	if f.denied {
		return "not '" + f.shown + "'"
	}
	return "'" + f.shown + "'"
}

// contradictingPairs compares facts about one subject and attribute. It returns the pairs that contradict each other,
// and those that may.
func contradictingPairs(all []sourcedFact) (pairs, maybe [][2]sourcedFact) {
	if len(all) < 2 {
		return nil, nil
	}
	newest := map[string]sourcedFact{} // by value, with a prefix for denials
	var values []string
	denials := map[string]bool{}
	for _, t := range all { // oldest first
		key := t.value
		if t.denied {
			key = "\x00" + key
		} else if _, ok := newest[key]; !ok {
			values = append(values, key)
		}
		denials[key] = t.denied
		newest[key] = t
	}
	for _, v := range values {
		if d, ok := newest["\x00"+v]; ok {
			pairs = append(pairs, [2]sourcedFact{newest[v], d})
		}
	}
	slices.SortFunc(values, func(x, y string) int { return cmp.Compare(newest[y].row, newest[x].row) })
	for _, o := range values[min(len(values), 1):] { // compare the newest value with each other one
		a, b := newest[values[0]], newest[o]
		switch {
		case !differ(a.value, b.value):
		case all[0].single && a.single && b.single && len(values) <= maxValues:
			pairs = append(pairs, [2]sourcedFact{a, b})
		default:
			maybe = append(maybe, [2]sourcedFact{a, b})
		}
	}
	return pairs, maybe
}

// differ reports whether two values exclude each other. A value that only adds words to the other does not.
func differ(a, b string) bool {
	x, y := slices.Sorted(strings.FieldsSeq(a)), slices.Sorted(strings.FieldsSeq(b))
	return slices.ContainsFunc(x, notIn(y)) && slices.ContainsFunc(y, notIn(x))
}
