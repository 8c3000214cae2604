package wireport

import (
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
)

func toThink(m *wire.Think) (*api.ThinkRequest, error) {
	return &api.ThinkRequest{Personality: m.RunPersonality, Limit: m.ConsolidationLimit,
		ThinkParts: api.ThinkParts{Consolidate: m.RunConsolidation, Conflicts: m.RunConflictScan, Patterns: m.RunPatternMining}}, nil
}

func fromThought(_ *wire.Think, a *api.Thought) *wire.ThinkResult {
	r := &wire.ThinkResult{ConflictsFound: int(a.Conflicts), ConsolidationCount: int(a.Merged), DurationMS: uint64(a.Millis),
		PatternsNew: int(a.New), PatternsUpdated: int(a.Updated), PersonalityUpdated: a.Personality, Triggers: []wire.Trigger{}}
	for _, t := range a.Triggers {
		r.Triggers = append(r.Triggers, wire.Trigger{Reason: t.Reason, SourceRIDs: t.Sources, SuggestedAction: t.Action, TriggerType: t.Type, Urgency: t.Urgency})
	}
	return r
}

func toConflicts(m *wire.Conflicts) (*api.ConflictsRequest, error) {
	return &api.ConflictsRequest{Status: text(m.Status), Type: text(m.ConflictType), Entity: text(m.Entity), Limit: m.Limit}, nil
}

func fromConflicts(_ *wire.Conflicts, a *api.ConflictList) *wire.ConflictResult {
	r := &wire.ConflictResult{Conflicts: []wire.Conflict{}}
	for _, c := range a.Conflicts {
		r.Conflicts = append(r.Conflicts, wire.Conflict{ConflictID: c.ID, ConflictType: c.Type, DetectedAt: c.Detected, DetectionReason: c.Reason,
			Entity: c.Entity, MemoryA: c.A, MemoryB: c.B, Priority: c.Priority, Status: c.Status})
	}
	return r
}

func toResolve(m *wire.Resolve) (*api.ResolveRequest, error) {
	return &api.ResolveRequest{ID: m.ConflictID, Strategy: m.Strategy, Winner: text(m.WinnerRID), NewText: text(m.NewText), Note: text(m.ResolutionNote)}, nil
}

func fromResolved(m *wire.Resolve, _ *api.Resolved) *wire.Resolved {
	return &wire.Resolved{ConflictID: m.ConflictID, Strategy: m.Strategy}
}

func fromTraits(a *api.TraitList) *wire.Personality {
	r := &wire.Personality{Traits: []wire.Trait{}}
	for _, t := range a.Traits {
		r.Traits = append(r.Traits, wire.Trait{Name: t.Name, Score: t.Score})
	}
	return r
}

func fromCounters(a *api.Counters) *wire.Stats {
	return &wire.Stats{ActiveMemories: a.Active, ConsolidatedMemories: a.Consolidated, Edges: a.Edges, Entities: a.Entities,
		OpenConflicts: a.Conflicts, Operations: a.Operations, PendingTriggers: a.Triggers, TombstonedMemories: a.Tombstoned}
}
