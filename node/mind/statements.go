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

// The relations for which several values at a time are normal (overlapping), or contradictory.
var (
	overlapping  = set("founded works_at speaks")
	singleInTime = set("ceo_of cto_of cfo_of leads married_to")
	singleHigh   = set("born_in headquartered_in acquired subsidiary_of")
)

// Statements returns the contradictions among relations and claims. Claims that succeed each other in time do not
// contradict; Statements returns an end of validity for the older one instead.
func Statements(s *Snapshot) (found []oplog.ConflictRow, bounds []oplog.ClaimBound) {
	found = s.edgeConflicts()
	byTriple := map[string][]oplog.StoredClaim{}
	var keys []string
	for i, c := range s.Claims {
		s.yieldAt(i)
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
		s.yieldAt(i)
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
		s.yieldAt(i)
		if !identityRelations[e.Type] && (!preferenceRelations[e.Type] || e.Type == "likes" || e.Type == "dislikes") {
			continue // these may have many values
		}
		key := e.Src + "\x00" + e.Type
		if by[key] == nil {
			keys = append(keys, key)
		}
		by[key] = append(by[key], e)
	}
	for i, key := range keys {
		s.yieldAt(i)
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

// claimSide returns the rid of the memory that a claim was extracted from, or the claim's own id if there is no such
// active memory.
func (s *Snapshot) claimSide(c oplog.StoredClaim) string {
	if c.SourceRID != "" && s.live(c.SourceRID) {
		return c.SourceRID
	}
	return "claim:" + c.ID
}

// claimConflicts compares the newest claims of one subject and relation, in the order of their times.
func (s *Snapshot) claimConflicts(cs []oplog.StoredClaim) (found []oplog.ConflictRow, bounds []oplog.ClaimBound) {
	slices.SortStableFunc(cs, func(a, b oplog.StoredClaim) int { return cmp.Compare(a.At, b.At) })
	const maxClaims = 50
	cs = cs[max(0, len(cs)-maxClaims):]
	add := func(a, b oplog.StoredClaim, p oplog.Priority, why string) {
		kind := "identity_fact"
		if fromHeuristic(a, b) || a.Polarity == b.Polarity && mayHaveSeveral(a, b) {
			kind, p = "minor", priorities["minor"]
		}
		c := oplog.ConflictRow{Type: kind, Priority: p, A: s.claimSide(a), B: s.claimSide(b), Entity: a.Src, Relation: a.Type,
			Namespace: a.Namespace, Reason: fmt.Sprintf("%s %s: '%s' and '%s' %s", a.Src, a.Type, a.Dst, b.Dst, why)}
		// A conflict of a memory with itself is never recorded, so each round would report it again.
		if c.A != c.B && s.isNew(c.A, c.B) {
			found = append(found, c)
		}
	}
	for i, a := range cs {
		var end *float64 // start of the first claim that succeeds a
		for _, b := range cs[i+1:] {
			da, db := s.canonical(a.Namespace, a.Dst), s.canonical(b.Namespace, b.Dst)
			switch {
			case !s.Minor && (fromHeuristic(a, b) || da != db && mayHaveSeveral(a, b)):
			case da == db && a.Polarity*b.Polarity < 0 && validityOverlap(a, b) != disjoint:
				add(a, b, oplog.High, "contradict via polarity")
			case da == db || a.Polarity != 1 || b.Polarity != 1 || overlapping[a.Type] || !singleInTime[a.Type] && !singleHigh[a.Type]:
			case validityOverlap(a, b) == overlaps:
				add(a, b, oplog.High, "contradict via overlapping validity")
			case validityOverlap(a, b) == disjoint: // only a later claim ends an earlier one
				if a.ValidTo == nil && *a.ValidFrom < *b.ValidFrom && (end == nil || *b.ValidFrom < *end) {
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

// fromHeuristic reports whether one of the claims was extracted from a text that only reports it. A conflict with
// such a claim is at most minor, because extraction errs more often than a client that states a claim.
func fromHeuristic(cs ...oplog.StoredClaim) bool {
	return slices.ContainsFunc(cs, func(c oplog.StoredClaim) bool {
		return c.Extractor == extract.ClaimExtractor && c.Modality != "asserted"
	})
}

// mayHaveSeveral reports whether one of the claims was extracted from a text, without a time, and its relation may
// have several objects at a time. Such a conflict is at most minor, too.
func mayHaveSeveral(cs ...oplog.StoredClaim) bool {
	return slices.ContainsFunc(cs, func(c oplog.StoredClaim) bool {
		return c.Extractor == extract.ClaimExtractor && (singleInTime[c.Type] || c.Type == "acquired")
	})
}

type overlap int

const (
	unknown overlap = iota
	overlaps
	disjoint
)

// validityOverlap compares the validity periods of two claims. A period without an end ends when a later one begins.
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
		return disjoint // the newer claim succeeds it
	case first.ValidTo == nil || *first.ValidTo > *second.ValidFrom:
		return overlaps
	}
	return disjoint
}
