package mind

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
)

var identityRelations = set("birthday age lives_in works_at email phone full_name spouse hometown")
var preferenceRelations = set("prefers favorite likes dislikes")

// A policy says what several values of one relation mean.
var (
	overlapping  = set("founded works_at speaks")
	singleInTime = set("ceo_of cto_of cfo_of leads married_to")
	singleHigh   = set("born_in headquartered_in acquired subsidiary_of")
)

// Statements are the contradictions among relations and claims. Claims that follow each other in time contradict
// nothing: the older one's validity is bounded instead.
func Statements(s *Snapshot) (found []oplog.ConflictRow, bounds []oplog.ClaimBound) {
	found = s.edgeConflicts()
	byTriple := map[string][]oplog.StoredClaim{}
	var keys []string
	for i, c := range s.Claims {
		s.rest(i)
		if c.Modality != "asserted" && c.Modality != "reported" {
			continue
		}
		key := c.Namespace + "\x00" + c.Src + "\x00" + c.Type
		if byTriple[key] == nil {
			keys = append(keys, key)
		}
		byTriple[key] = append(byTriple[key], c)
	}
	for i, key := range keys {
		s.rest(i)
		f, b := s.claimConflicts(byTriple[key])
		found, bounds = append(found, f...), append(bounds, b...)
		if len(found) >= MaxConflicts {
			return found[:MaxConflicts], bounds
		}
	}
	return found, bounds
}

func (s *Snapshot) edgeConflicts() (found []oplog.ConflictRow) {
	by := map[string][]oplog.Edge{}
	var keys []string
	for i, e := range s.Edges {
		s.rest(i)
		if !identityRelations[e.Type] && (!preferenceRelations[e.Type] || e.Type == "likes" || e.Type == "dislikes") {
			continue // one may like many things
		}
		key := e.Src + "\x00" + e.Type
		if by[key] == nil {
			keys = append(keys, key)
		}
		by[key] = append(by[key], e)
	}
	for i, key := range keys {
		s.rest(i)
		es := by[key]
		slices.SortFunc(es, func(a, b oplog.Edge) int { return cmp.Compare(a.Updated, b.Updated) })
		last := es[len(es)-1]
		for _, e := range es[:len(es)-1] {
			kind := "identity_fact"
			if preferenceRelations[e.Type] {
				kind = "preference"
			}
			c := oplog.ConflictRow{Type: kind, Priority: priorities[kind], A: "edge:" + e.ID, B: "edge:" + last.ID, Entity: e.Src,
				Relation: e.Type, Namespace: "default",
				Reason: fmt.Sprintf("Entity '%s' has conflicting %s values: '%s' vs '%s'", e.Src, e.Type, e.Dst, last.Dst)}
			if s.isNew(c.A, c.B) {
				found = append(found, c)
			}
		}
	}
	return found
}

// claimSide is the memory a claim is from, or the claim itself.
func (s *Snapshot) claimSide(c oplog.StoredClaim) string {
	if c.SourceRID != "" && s.live(c.SourceRID) {
		return c.SourceRID
	}
	return "claim:" + c.ID
}

// claimConflicts compares the claims of one subject and relation, the oldest first.
func (s *Snapshot) claimConflicts(cs []oplog.StoredClaim) (found []oplog.ConflictRow, bounds []oplog.ClaimBound) {
	slices.SortStableFunc(cs, func(a, b oplog.StoredClaim) int { return cmp.Compare(a.At, b.At) })
	const few = 50
	cs = cs[max(0, len(cs)-few):]
	add := func(a, b oplog.StoredClaim, p oplog.Priority, why string) {
		kind := "identity_fact"
		if guessed(a, b) || a.Polarity == b.Polarity && mayHaveSeveral(a, b) {
			kind, p = "minor", priorities["minor"]
		}
		c := oplog.ConflictRow{Type: kind, Priority: p, A: s.claimSide(a), B: s.claimSide(b), Entity: a.Src, Relation: a.Type,
			Namespace: a.Namespace, Reason: fmt.Sprintf("%s %s: '%s' and '%s' %s", a.Src, a.Type, a.Dst, b.Dst, why)}
		if c.A != c.B && s.isNew(c.A, c.B) { // nothing is recorded of a memory that contradicts itself, so it would be found in each round
			found = append(found, c)
		}
	}
	for i, a := range cs {
		var end *float64 // the begin of the first claim that follows
		for _, b := range cs[i+1:] {
			da, db := s.canonical(a.Namespace, a.Dst), s.canonical(b.Namespace, b.Dst)
			switch {
			case !s.Minor && (guessed(a, b) || da != db && mayHaveSeveral(a, b)):
			case da == db && a.Polarity*b.Polarity < 0 && validityOverlap(a, b) != apart:
				add(a, b, oplog.High, "contradict via polarity")
			case da == db || a.Polarity != 1 || b.Polarity != 1 || overlapping[a.Type] || !singleInTime[a.Type] && !singleHigh[a.Type]:
			case validityOverlap(a, b) == overlaps:
				add(a, b, oplog.High, "contradict via overlapping validity")
			case validityOverlap(a, b) == apart:
				if a.ValidTo == nil && *a.ValidFrom < *b.ValidFrom && (end == nil || *b.ValidFrom < *end) { // what was before bounds nothing
					end = b.ValidFrom
				}
			case singleHigh[a.Type]:
				add(a, b, oplog.High, "contradict via "+a.Type)
			default:
				add(a, b, oplog.Medium, "may contradict")
			}
		}
		if end != nil {
			bounds = append(bounds, oplog.ClaimBound{ID: a.ID, To: *end})
		}
	}
	return found, bounds
}

// guessed reports whether a claim was read from a text that only reports it. A conflict with such a claim is at most
// minor: a reader of texts errs more often than a client that states a claim.
func guessed(cs ...oplog.StoredClaim) bool {
	return slices.ContainsFunc(cs, func(c oplog.StoredClaim) bool {
		return c.Extractor == extract.ClaimExtractor && c.Modality != "asserted"
	})
}

// mayHaveSeveral reports whether a claim was read from a text, without a time, and its relation may have several
// objects at a time. Such a conflict is at most minor, too.
func mayHaveSeveral(cs ...oplog.StoredClaim) bool {
	return slices.ContainsFunc(cs, func(c oplog.StoredClaim) bool {
		return c.Extractor == extract.ClaimExtractor && (singleInTime[c.Type] || c.Type == "acquired")
	})
}

type overlap int

const (
	unknown overlap = iota
	overlaps
	apart
)

// validityOverlap reports whether two claims' times of validity overlap. A claim without an end ends where a later
// begins.
func validityOverlap(a, b oplog.StoredClaim) overlap {
	if a.ValidFrom == nil || b.ValidFrom == nil {
		return unknown
	}
	first, second := a, b
	if *b.ValidFrom < *a.ValidFrom {
		first, second = b, a
	}
	switch {
	case *first.ValidFrom == *second.ValidFrom:
		return overlaps
	case first.ValidTo == nil && first.ID == a.ID:
		return apart // the newer claim succeeds it
	case first.ValidTo == nil || *first.ValidTo > *second.ValidFrom:
		return overlaps
	}
	return apart
}
