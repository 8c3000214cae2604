package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// Skills are memories of their own namespace, with their ids as keys, and recalls find them. Outcomes are an
// append-only list in another namespace, under the id of their skill. Both namespaces have the names that other
// clients of the protocol use.

const (
	skillNamespace   = "skill_substrate"
	outcomeNamespace = "outcome_substrate"

	minBody, maxBody       = 50, 5000 // characters
	minSkillID, maxSkillID = 4, 200   // bytes
	maxApplies             = 10
	maxCalls               = 50
)

var (
	skillID   = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$`)
	appliesTo = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

	skillTypes = []string{"procedure", "reference", "lesson", "pattern", "rule"}

	errNoSkill = &oplog.Error{Kind: oplog.NotFound, Text: "no such skill"}
)

// checkSkill rejects a skill that clients of the protocol could not find again.
func checkSkill(q *api.DefineSkillRequest) error {
	if n := utf8.RuneCountInString(q.Body); n < minBody || n > maxBody {
		return oplog.Errorf(oplog.Invalid, "body: want %d to %d characters, got %d", minBody, maxBody, n)
	}
	if len(q.ID) < minSkillID || len(q.ID) > maxSkillID || !skillID.MatchString(q.ID) {
		return oplog.Errorf(oplog.Invalid,
			"skill_id: want %d to %d lower-case letters, digits and underscores in parts with dots between, such as release.notes.write",
			minSkillID, maxSkillID)
	}
	if !slices.Contains(skillTypes, q.Kind) {
		return oplog.Errorf(oplog.Invalid, "skill_type: want one of %s, got %.64q", strings.Join(skillTypes, ", "), q.Kind)
	}
	if len(q.For) == 0 || len(q.For) > maxApplies {
		return oplog.Errorf(oplog.Invalid, "applies_to: want 1 to %d words, got %d", maxApplies, len(q.For))
	}
	for _, word := range q.For {
		if !appliesTo.MatchString(word) || len(word) > maxLabel {
			return oplog.Errorf(oplog.Invalid, "applies_to: want lower-case letters, digits and underscores, got %.64q", word)
		}
	}
	if len(q.Triggers) > maxCalls {
		return oplog.Errorf(oplog.Invalid, "triggers: want at most %d phrases, got %d", maxCalls, len(q.Triggers))
	}
	return nil
}

func (s *Service) defineSkill(ctx context.Context, c api.Caller, q *api.DefineSkillRequest) (*api.DefinedSkill, error) {
	if err := checkSkill(q); err != nil {
		return nil, err
	}
	metadata := map[string]any{}
	if len(q.Metadata) > 0 && json.Unmarshal(q.Metadata, &metadata) != nil {
		return nil, oplog.Errorf(oplog.Invalid, "metadata is not a JSON object")
	}
	attributes := map[string]any{"skill_id": q.ID, "skill_type": q.Kind, "applies_to": q.For}
	maps.Copy(metadata, attributes)
	metadata["record_type"] = "skill"
	for name, v := range map[string]string{"version": q.Version, "supersedes_skill_id": q.Supersedes} {
		if v != "" {
			metadata[name] = v
		}
	}
	if len(q.Triggers) > 0 {
		metadata["triggers"] = q.Triggers
	}
	d := unsearchableDraft(skillNamespace, "procedural", q.Body, attributes)
	d.Domain, d.Searchable, d.TTL = "skill", new(true), new(0.0)
	var err error
	if d.Metadata, err = json.Marshal(metadata); err != nil {
		return nil, err
	}
	put := &api.PutRequest{Draft: d, Path: "/" + q.ID, Reason: "defined again"}
	put.IfAbsent = q.Conflict == "reject" || q.Conflict == "ignore"
	done, err := s.put(ctx, c, put)
	if refused, ok := errors.AsType[*api.Refusal](err); ok && refused.Code == "precondition_failed" {
		return s.skillTaken(c, q, refused)
	}
	if err != nil {
		return nil, err
	}
	return &api.DefinedSkill{RID: done.RID, ID: q.ID, Stored: done.Changed || done.Created, Index: done.Index, Redacted: done.Redacted}, nil
}

// skillTaken answers the definition of a skill whose id exists: with the existing skill, or with an error.
func (s *Service) skillTaken(c api.Caller, q *api.DefineSkillRequest, refused *api.Refusal) (*api.DefinedSkill, error) {
	if q.Conflict == "reject" {
		refused.Code, refused.Err = "skill_exists", oplog.Errorf(oplog.Conflict,
			"skill %s exists already: define it with on_conflict replace, or choose another skill_id", q.ID)
		return nil, refused
	}
	a := &api.DefinedSkill{ID: q.ID}
	return a, s.state.Inspect(func(v *state.View) {
		if m, ok := v.Keyed(c.DB, skillNamespace, "/"+q.ID); ok && c.May(api.Read) {
			a.RID = m.RID
		}
		a.Index = field.Token(v.Index())
	})
}

func (s *Service) searchSkills(ctx context.Context, c api.Caller, q *api.SearchSkillsRequest) (*api.SkillList, error) {
	wants := map[string]any{"skill_id": map[string]bool{"exists": true}}
	for name, v := range map[string]string{"applies_to": q.For, "skill_type": q.Kind} {
		if v != "" {
			wants[name] = v
		}
	}
	f, err := json.Marshal(wants)
	if err != nil {
		return nil, err
	}
	asked, err := query(c, &api.Question{Text: q.Query, K: q.K, Namespace: skillNamespace, Filter: f, Expand: true})
	if err != nil {
		return nil, err
	}
	a, err := s.search(ctx, c, asked)
	if err != nil {
		return nil, err
	}
	rows := api.Each(a.Hits, skillOf)
	return &api.SkillList{Skills: rows, Total: len(rows), Left: a.Info.Cut}, nil
}

func skillOf(h index.Hit) api.Skill {
	m := h.Memory
	var is struct {
		ID   string   `json:"skill_id"`
		Kind string   `json:"skill_type"`
		For  []string `json:"applies_to"`
	}
	_ = json.Unmarshal(m.Attributes, &is) // what another client stored in the namespace may have attributes of other types
	return api.Skill{RID: m.RID, ID: is.ID, Text: m.Text, Body: m.Text, Score: h.Score, Kind: is.Kind,
		For: api.OrEmpty(is.For), Metadata: orObject(m.Metadata),
		Created: m.Created.Seconds(), Revision: m.Revision}
}

func (s *Service) noteOutcome(ctx context.Context, c api.Caller, q *api.NoteOutcomeRequest) (*api.NotedOutcome, error) {
	if err := checkSize("note", len(q.Note), MaxReason); err != nil {
		return nil, err
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil { // a skill that another node has just stored has outcomes too
		return nil, err
	}
	known, err := state.Get(s.state,
		func(v *state.View) bool { _, ok := v.Keyed(c.DB, skillNamespace, "/"+q.ID); return ok })
	if err != nil {
		return nil, err
	}
	if !known && s.countAnswered(c.DB, []string{q.Key}) == 0 { // else it was stored before the skill was deleted
		return nil, errNoSkill
	}
	text := fmt.Sprintf("outcome: skill=%s succeeded=%t", q.ID, q.Succeeded)
	if q.Note != "" {
		text += "\nnote: " + q.Note
	}
	d := unsearchableDraft(outcomeNamespace, "episodic", text, map[string]any{"skill_id": q.ID, "succeeded": q.Succeeded})
	d.Domain, d.RID, d.TTL = "skill_outcome", oplog.NewID(), new(0.0)
	d.Path = "/" + q.ID + "/" + d.RID
	w, err := s.store(ctx, c, q.Key, d)
	return &api.NotedOutcome{RID: w.First.ID, ID: q.ID, Recorded: true, Index: field.Token(w.Index), Redacted: w.Redacted}, err
}
