package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// A conversation is a folder of memories under numbered keys. A new turn takes the number after the last one, on the
// condition that no memory has it: two turns at once on two nodes get two numbers.

const (
	turnFolder = "/.turns/"
	kindTurn   = "turn"
	maxLabel   = 64 // bytes of a role or a status
)

// unsearchableDraft returns the draft of a memory that clients read only by its key or id.
func unsearchableDraft(namespace, kind, text string, attributes any) api.Draft {
	b, err := json.Marshal(attributes)
	if err != nil {
		panic("engine: attributes do not encode: " + err.Error())
	}
	return api.Draft{Namespace: namespace, Type: kind, Text: text, Attributes: b, Importance: 0.5,
		HalfLife: api.DefaultHalfLife, Certainty: 1, Source: "user",
		Searchable: new(false)}
}

// checkText rejects a blank text, and a text with more bytes than its bound.
func checkText(what, text string, most int) error {
	if strings.TrimSpace(text) == "" {
		return oplog.Errorf(oplog.Invalid, "%s: want words, got a blank text", what)
	}
	return checkSize(what, len(text), most)
}

// turnsOf returns outlines of a namespace's turns, the oldest first, and the number of the last key.
func turnsOf(v *state.View, db oplog.DB, namespace string) (all []*oplog.Memory, last uint64) {
	looked := 0
	v.Keys(db, namespace, turnFolder, "", 0, func(path string, m *oplog.Memory) bool {
		if n, err := strconv.ParseUint(strings.TrimPrefix(path, turnFolder), 10, 64); err == nil {
			last = n
		}
		if m.Type == kindTurn {
			all = append(all, outline(m))
		}
		looked++
		return looked < state.MaxScan
	})
	return all, last
}

// recordTurn adds a turn and forgets the oldest ones, in one entry. The oldest go first, so that a database at its
// quota can continue its conversations.
func (s *Service) recordTurn(ctx context.Context, c api.Caller, q *api.RecordTurnRequest) (*api.RecordedTurn, error) {
	if err := cmp.Or(checkText("role", q.Role, maxLabel), checkText("content", q.Content, MaxText)); err != nil {
		return nil, err
	}
	ns := orDefault(q.Namespace)
	draft := unsearchableDraft(ns, kindTurn, q.Content, map[string]string{"role": q.Role})
	for range maxKeyTries {
		steps, err := state.Get(s.state, func(v *state.View) []api.BatchStep {
			all, last := turnsOf(v, c.DB, ns)
			return append(deleteSteps(ns, all[:max(0, min(len(all)+1-q.MaxTurns, MaxBatch-1))]),
				api.BatchStep{Op: "put", Namespace: ns, Path: fmt.Sprintf("%s%020d", turnFolder, last+1), Memory: &draft,
					Condition: api.Condition{IfAbsent: true}})
		})
		if err != nil {
			return nil, err
		}
		k := &keyedBatch{s: s, c: c, steps: steps}
		done, err := s.applyKeyed(ctx, k, write{})
		if api.RefusedAs(err, "precondition_failed") {
			continue // another client's turn has the number
		}
		if err != nil {
			return nil, err
		}
		n := len(steps) - 1
		return &api.RecordedTurn{Recorded: true, Role: q.Role, RID: done.after[n].ID, Dropped: n,
			Index: field.Token(done.Index), Redacted: k.redacted}, nil
	}
	return nil, oplog.Errorf(oplog.Unavailable, "other clients write to the conversation all the time; retry")
}

// deleteSteps returns the steps that forget turns.
func deleteSteps(ns string, turns []*oplog.Memory) []api.BatchStep {
	return api.Each(turns, func(m *oplog.Memory) api.BatchStep { return api.BatchStep{Op: "delete", Namespace: ns, Path: m.Path} })
}

func (s *Service) recentTurns(v *state.View, c api.Caller, q *api.RecentTurnsRequest) (*api.TurnList, error) {
	all, _ := turnsOf(v, c.DB, orDefault(q.Namespace))
	all = all[max(0, len(all)-min(max(q.Limit, 0), api.MaxList)):]
	slices.Reverse(all)
	list, left := readFull(v, c.DB, all, c.Hold) // without room, the oldest are left out
	slices.Reverse(list)
	rows := api.Each(list, func(m *oplog.Memory) api.Turn {
		var a struct{ Role string }
		_ = json.Unmarshal(m.Attributes, &a) // a memory that a client stored under such a key may have no role
		return api.Turn{RID: m.RID, Role: a.Role, Content: m.Text, Created: m.Created.Seconds()}
	})
	return &api.TurnList{Turns: rows, Count: len(rows), Left: left}, nil
}

func (s *Service) clearTurns(ctx context.Context, c api.Caller, q *api.ClearTurnsRequest) (*api.ClearedTurns, error) {
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil { // a turn that another node acknowledged goes as well
		return nil, err
	}
	ns := orDefault(q.Namespace)
	all, err := state.Get(s.state, func(v *state.View) []*oplog.Memory {
		all, _ := turnsOf(v, c.DB, ns)
		return all[:min(len(all), MaxBatch)]
	})
	if err != nil {
		return nil, err
	}
	done, err := s.applyKeyed(ctx, &keyedBatch{s: s, c: c, steps: deleteSteps(ns, all)}, write{})
	return &api.ClearedTurns{Cleared: true, Turns: len(all), Index: field.Token(done.Index)}, err
}
