package node

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// thinkThere asks the leader for a round, where a surface passes its writes on: a round is no entry that could be forwarded. The
// leader is asked with the token of the request, or, where the caller was let in by this node, with the cluster's own secret.
// The answer comes when this node has what the leader decided.
func (s *Service) thinkThere(ctx context.Context, c Caller, r ThinkRequest) (ThinkAnswer, error) {
	started := time.Now()
	if token, _ := ctx.Value(bearerKey{}).(string); token == "" {
		if s.cfg.Secret == "" || s.cfg.NoMasterToken {
			return ThinkAnswer{}, s.notLeader()
		}
		ctx = context.WithValue(ctx, bearerKey{}, "Bearer "+s.cfg.Secret)
	}
	raw, err := s.askLeader(ctx, "/v1/think?database="+url.QueryEscape(c.Database), map[string]any{"run_consolidation": r.Consolidate, "run_conflict_scan": r.Conflicts, "include_minor": r.Minor,
		"run_pattern_mining": r.Patterns, "run_personality": r.Personality, "consolidation_limit": r.ConsolidationLimit,
		"consolidation_time_window_days": r.Window.Hours() / 24, "min_active_memories": r.MinActive, "max_triggers": r.MaxTriggers})
	if err != nil {
		return ThinkAnswer{}, err
	}
	var told thinkAnswerRow
	if err := json.Unmarshal(raw, &told); err != nil {
		return ThinkAnswer{}, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer is no answer to a request to think", Err: err}
	}
	if err := s.fresh(ctx, Freshness{Mode: LinearizableMode}); err != nil {
		return ThinkAnswer{}, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader has thought, but what it decided is not readable here yet", Err: err}
	}
	a := ThinkAnswer{Took: time.Since(started), Index: s.machine.indexed.get()}
	a.Merged, a.Conflicts, a.PatternsNew, a.PatternsUpdated, a.Personality = told.Merged, told.Conflicts, told.New, told.Updated, told.Personality
	for _, t := range told.Triggers {
		a.Triggers = append(a.Triggers, oplog.TriggerRow{Type: t.Type, Reason: t.Reason, Urgency: t.Urgency, Sources: t.Sources, Action: t.Action})
	}
	return a, nil
}

// thinkAnswerRow is what the gateway answers; it has exactly the keys that strict clients take.
type thinkAnswerRow struct {
	Merged      uint32          `json:"consolidation_count"`
	Conflicts   uint32          `json:"conflicts_found"`
	New         uint32          `json:"patterns_new"`
	Updated     uint32          `json:"patterns_updated"`
	Personality bool            `json:"personality_updated"`
	Millis      int64           `json:"duration_ms"`
	Triggers    []raisedTrigger `json:"triggers"`
}

type raisedTrigger struct {
	Type    string   `json:"trigger_type"`
	Reason  string   `json:"reason"`
	Urgency float64  `json:"urgency"`
	Sources []string `json:"source_rids"`
	Action  string   `json:"suggested_action"`
}

func thinkRow(a ThinkAnswer) thinkAnswerRow {
	row := thinkAnswerRow{Merged: a.Merged, Conflicts: a.Conflicts, New: a.PatternsNew, Updated: a.PatternsUpdated, Personality: a.Personality,
		Millis: a.Took.Milliseconds(), Triggers: make([]raisedTrigger, len(a.Triggers))}
	for i, t := range a.Triggers {
		row.Triggers[i] = raisedTrigger{t.Type, t.Reason, t.Urgency, orEmpty(t.Sources), t.Action}
	}
	return row
}
