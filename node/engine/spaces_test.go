package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// bound holds the requests of a token that is bound to agents/billing: values for required fields, and for fields
// that make the answer show more.
var bound = map[string]string{"query": `"who drinks tea"`, "skip_reinforce": "true", "explain": "true", "min_score": "0",
	"top_k": "100", "name": `"Shared"`, "entity": `"Shared"`,
	"status": `"all"`, "days": "30", "verbose": "true", "full": "true", "include_gaps": "true", "key": `"/k"`,
	"as_of": `"2100-01-01"`, "rid": `"agents/billing-0"`, "filter": `{"@source":{"exists":true}}`,
	"text": `"Wordagents/billing drinks tea"`, "memories": `[{"text":"Wordagents/billing drinks tea"}]`,
	"reason": `"because"`, "new_text": `"Wordagents/billing drinks coffee"`,
	"steps": `[{"op":"get","key":"/k"}]`, "summary": `"Wordagents/billing rests."`, "src": `"Shared"`, "rel_type": `"likes"`,
	"dst": `"Wordagents/billing"`, "alias": `"Sha"`,
	"canonical_name": `"Shared"`, "strategy": `"dismiss"`, "verb": `"act"`, "relevant": "true", "max_tokens": "10000", "metadata": `{}`}

// bounds holds values for fields of single operations, in place of those of bound.
var bounds = map[string]string{"stale days": "1", "upcoming days": "7", "entity days": "0",
	"session id": `"sWordagents/billing"`, "session_start session_id": `"own"`, "session_end id": `"own"`,
	"resolve_conflict id": `"cWordagents/billing"`, "trigger_move id": `"tWordagents/billing"`, "rename to": `"/l"`,
	"release rid": `"agents/billing-5"`, "undo rid": `"agents/billing-1"`, "move to": `"agents/billing/eu"`,
	"move rid": `"agents/billing-0"`, "split rid": `"agents/billing-1"`,
	"split texts": `["Wordagents/billing drinks","Wordagents/billing eats"]`,
	"merge rids":  `["agents/billing-6","agents/billing-7"]`, "correct rid": `"agents/billing-1"`,
	"forget rid": `"agents/billing-2"`, "task id": `"agents/billing-4"`, "task_change id": `"agents/billing-4"`,
	"task_delete id": `"agents/billing-4"`, "task_add title": `"tea"`,
	"turn_record role": `"user"`, "turn_record content": `"tea"`, "remember key": "", "stats status": "",
	"ids short": `["agents/billing-1","agents/billing2","#1","#9"]`, "ids rids": `["agents/billing-1","default-1"]`,
	"values attribute": `"of"`, "conflicts entity": "", "forget_matching filter": `{"@namespace":"agents/billing/eu"}`}

// boundRequest returns a request of the bound token for an operation. more has further fields as JSON.
func boundRequest(t *testing.T, op *api.Op, more map[string]string) any {
	t.Helper()
	given, takes := map[string]json.RawMessage{}, op.Takes()
	for _, f := range takes {
		v, asked := bounds[op.Name+" "+f.Name]
		if !asked {
			v = bound[f.Name]
		}
		if f.Idle || f.Name == "memory_type" || f.Kind.Enum != nil && !f.Must {
			continue
		}
		if v = cmp.Or(more[f.Name], v); v != "" {
			given[f.Name] = json.RawMessage(v)
		}
	}
	request := op.New()
	if err := takes.Decode(request, given, false); err != nil {
		t.Fatalf("%s: %v", op.Name, err)
	}
	return request
}

// answerText returns the whole answer as text, with streams read to their ends, and without log positions and times.
func answerText(t *testing.T, answer any) string {
	t.Helper()
	b, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	lines := []string{fmt.Sprint(timeless(v))}
	switch a := answer.(type) {
	case *api.Exported:
		for rows, err := range a.Memories {
			b, _ := json.Marshal(rows)
			lines = append(lines, fmt.Sprint(string(b), err))
		}
		for rows, err := range a.Edges {
			lines = append(lines, fmt.Sprint(rows, err))
		}
	case *api.Subscription:
		a.Close() // eventsWithin reads the events
	}
	return strings.Join(lines, "\n")
}

// timeless rounds numbers, because scores fade, and leaves out log positions and times.
func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if slices.Contains([]string{"index", "lag_seconds", "log_index", "applied_index", "indexed_index", "last_maintenance"}, k) {
				delete(v, k)
			} else {
				v[k] = timeless(x)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = timeless(x)
		}
	case float64:
		return fmt.Sprintf("%.3g", v)
	}
	return v
}

// takesField reports whether an operation has a field with this name.
func takesField(op *api.Op, name string) bool {
	return slices.ContainsFunc(op.Takes(), func(f field.Field) bool { return f.Name == name && !f.Idle })
}

// TestATokenStaysInItsNamespaces calls every operation with a token that is bound to agents/billing, before and after
// others store every kind of data in agents/billing2 and default. No text, count or score of an answer may differ. A
// request that names their namespace is denied, one with an id of their data gets "not found", and an operation whose
// answers cannot be limited to a namespace is denied altogether.
func TestATokenStaysInItsNamespaces(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	propose := func(ops ...oplog.Op) {
		t.Helper()
		if err := n.Service().Propose(t.Context(), owner, ops...); err != nil {
			t.Fatal(err)
		}
	}
	c := owner
	c.Spaces, c.Quiet = oplog.Spaces{"agents/billing"}, true
	plant := func(namespaces ...string) {
		plantData(t, propose, namespaces...)
		if err := n.Service().WaitIndexed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	plant("agents/billing", "agents/billing/eu")
	reads := func() map[string]string {
		all := map[string]string{}
		for _, op := range api.Ops {
			if op.Bound == api.Refused || op.Bound == api.Free || op.Writes {
				continue
			}
			for _, more := range []map[string]string{{}, {"namespace": `"agents/billing"`},
				{"namespace": `"agents/billing/eu"`}, {"order": `"asc"`}} {
				name := op.Name + fmt.Sprint(more)
				a, err := n.Host().Do(t.Context(), c, op, boundRequest(t, op, more))
				if err != nil && !errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
					t.Errorf("%s: %v", name, err)
				} else if err == nil {
					all[name] = answerText(t, a)
				}
			}
		}
		return all
	}
	before := reads()
	plant("agents/billing2", "default")
	propose(&oplog.Relate{ID: "eWord", Src: "Shared", Dst: "Worddefault", Type: "knows", Weight: 1, At: 1},
		&oplog.Alias{Namespace: "agents/billing2", Alias: "Sha", Canonical: "Worddefault", At: 1})
	for _, op := range api.Ops { // all answers except numbers must show data
		silent := []*api.Op{api.Stats.Op, api.Count.Op, api.Compare.Op, api.Personality.Op, api.Status.Op, api.Events.Op,
			api.Gaps.Op, api.Erased.Op}
		if got, asked := before[op.Name+"map[]"]; op.Bound != api.Refused && op.Bound != api.Free && !op.Writes &&
			!slices.Contains(silent, op) && (!asked || !strings.Contains(got, "agents/billing")) {
			t.Errorf("%s tells nothing: %s", op.Name, got)
		}
	}
	after := reads()
	for name, got := range after {
		if strings.Contains(got, "agents/billing2") || strings.Contains(got, "Worddefault") || strings.Contains(got, "default-") {
			t.Errorf("%s tells of others: %s", name, got)
		}
		if want := before[name]; got != want {
			t.Errorf("%s differs:\nbefore %s\nafter  %s", name, want, got)
		}
	}
	deniedAndMissing(t, n, c)
	writesWithin(t, n, c)
	propose(&oplog.Remember{Content: oplog.Content{RID: "agents/billing-last", Text: "last", Namespace: "agents/billing",
		Type: "semantic"}})
	eventsWithin(t, n, c)
}

// TestTextsOfABoundTokenLinkWithin: names in others' memories do not affect the entities of a text that a bound token
// stores, in any case of letters; names in its own memories do. The kind of a name may come from others.
func TestTextsOfABoundTokenLinkWithin(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	c := owner
	c.Spaces, c.Quiet = oplog.Spaces{"agents/billing"}, true
	names := func(c api.Caller, texts ...string) string {
		t.Helper()
		for _, text := range texts {
			if _, err := api.Remember.Do(t.Context(), n.Host(), c, &api.RememberRequest{Draft: api.Draft{Text: text}}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := api.Entities.Do(t.Context(), n.Host(), c, &api.EntitiesRequest{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, e := range list.Entities {
			said += fmt.Sprint(e.Name, " ", e.Mentions, "; ")
		}
		return said
	}
	names(owner, "Zephyrine Quill leads the harbour team", "Dr. Zephyrine QUILL lives in Oslo")
	if got := names(c, "lunch with zephyrine quill was late"); got != "" {
		t.Errorf("the names of others: %s", got)
	}
	if got := names(c, "Zephyrine QUILL came to lunch", "tea with zephyrine quill was early"); got != "Zephyrine QUILL 2; " {
		t.Errorf("its own names: %s", got)
	}
	all, err := api.Export.Do(t.Context(), n.Host(), c, &api.ExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got := answerText(t, all); strings.Contains(got, "person") ||
		!strings.Contains(got, `"QUILL"`) && !strings.Contains(got, "Zephyrine QUILL") {
		t.Errorf("the export says of what kind a name is: %s", got)
	}
}

// TestTopicsOfASessionStayWithin: memories of other namespaces may refer to a session of a bound token, but names
// that only they have are not among its topics.
func TestTopicsOfASessionStayWithin(t *testing.T) {
	t.Parallel()
	n, owner := startSingle(t)
	c := owner
	c.Spaces, c.Quiet = oplog.Spaces{"agents/billing"}, true
	begun, err := api.StartSession.Do(t.Context(), n.Host(), c, &api.StartSessionRequest{Namespace: "agents/billing", Client: "desk"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		c     api.Caller
		draft api.Draft
	}{
		{owner, api.Draft{Text: "Zephyrine Quill leads the harbour team", Namespace: "secret", Session: begun.ID}},
		{c, api.Draft{Text: "Odalys Brandt pays by invoice", Session: begun.ID}},
	} {
		if _, err := api.Remember.Do(t.Context(), n.Host(), w.c, &api.RememberRequest{Draft: w.draft}); err != nil {
			t.Fatal(err)
		}
	}
	ended, err := api.EndSession.Do(t.Context(), n.Host(), c, &api.EndSessionRequest{ID: begun.ID})
	if err != nil {
		t.Fatal(err)
	}
	list, err := api.Sessions.Do(t.Context(), n.Host(), c, &api.SessionsRequest{Limit: 10})
	if err != nil || len(list.Sessions) != 1 {
		t.Fatal(list, err)
	}
	one, err := api.SessionHistory.Do(t.Context(), n.Host(), c, &api.SessionHistoryRequest{ID: begun.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, topics := range [][]string{ended.Topics, list.Sessions[0].Topics, one.Session.Topics} {
		if !slices.Equal(topics, []string{"Odalys Brandt"}) {
			t.Errorf("topics: %q", topics)
		}
	}
}

// eventsWithin follows the events of the log up to the last, which belongs to the token's namespace, and checks that
// none is of others.
func eventsWithin(t *testing.T, n *node.Node, c api.Caller) {
	t.Helper()
	sub, err := api.Events.Do(t.Context(), n.Host(), c, &api.EventsRequest{From: 1})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	if err := sub.Follow(ctx, func(e api.Event) error {
		var of struct{ ID string }
		if e.Name != "" && json.Unmarshal(e.Data, &of) != nil {
			t.Errorf("event %s: %s", e.Name, e.Data)
		}
		if told[e.Name]++; strings.Contains(of.ID, "default") || strings.Contains(of.ID, "billing2") || of.ID == "eWord" || of.ID == "" {
			t.Errorf("an event of others: %s %s", e.Name, e.Data)
		}
		if of.ID == "agents/billing-last" {
			end()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stored", "claimed", "session_started", "session_ended", "conflict", "trigger",
		"forgotten", "corrected", "resolved", "trigger_moved"} {
		if told[name] == 0 {
			t.Errorf("no event %s of its own: %v", name, told)
		}
	}
}

// deniedAndMissing checks that requests which name the namespace of others are denied, as are operations that cannot
// be limited to a namespace, and that ids of others' data are not found.
func deniedAndMissing(t *testing.T, n *node.Node, c api.Caller) {
	t.Helper()
	denied := func(op *api.Op, request any, what string) {
		t.Helper()
		_, err := n.Host().Do(t.Context(), c, op, request)
		var r *api.Refusal
		if !errors.As(err, &r) || r.Code != "namespace_denied" || !strings.Contains(err.Error(), "agents/billing/") {
			t.Errorf("%s, %s: %v", op.Name, what, err)
		}
	}
	theirs := map[string]string{"memory": `"default-0"`, "session": `"sWorddefault"`, "conflict": `"cWorddefault"`,
		"trigger": `"tWorddefault"`}
	for _, op := range api.Ops {
		if op.Bound == api.Refused {
			if c.May(op.Scope) || op.Scope == "" {
				denied(op, op.New(), "which cannot be held apart")
			}
			continue
		}
		if takesField(op, "namespace") {
			for _, space := range []string{`"agents/billing2"`, `"default"`, `"agents"`, `" default "`} {
				denied(op, boundRequest(t, op, map[string]string{"namespace": space}), "of "+space)
			}
		}
		request := reflect.TypeOf(op.New()).Elem()
		for _, f := range reflect.VisibleFields(request) {
			of, name := f.Tag.Get("names"), f.Tag.Get("json")
			if of == "" || of == "-" {
				continue
			}
			if of == "namespace" {
				denied(op, boundRequest(t, op, map[string]string{name: `"default"`}), "to another's namespace")
				continue
			}
			id := theirs[of]
			if f.Type.Kind() == reflect.Slice {
				id = "[" + id + "," + id + "]"
			}
			if _, err := n.Host().Do(t.Context(), c, op,
				boundRequest(t, op, map[string]string{name: id})); !errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
				t.Errorf("%s of another's %s: %v", op.Name, of, err)
			}
		}
	}
	for op, more := range map[*api.Op]map[string]string{
		api.Prompt.Op:        {"namespaces": `["agents/billing","default"]`},
		api.Batch.Op:         {"steps": `[{"op":"get","key":"/k"},{"op":"get","namespace":"default","key":"/k"}]`},
		api.RememberBatch.Op: {"memories": `[{"text":"mine"},{"text":"theirs","namespace":"agents/billing2"}]`},
	} {
		denied(op, boundRequest(t, op, more), "of two namespaces")
	}
}

// writesWithin calls every operation that writes, with a request that names no namespace.
func writesWithin(t *testing.T, n *node.Node, c api.Caller) {
	t.Helper()
	ops := slices.DeleteFunc(slices.Clone(api.Ops), func(op *api.Op) bool { return op == api.Resolve.Op })
	for _, op := range slices.Insert(ops, 0, api.Resolve.Op) { // first, because a conflict ends when one side is corrected
		if !op.Writes || op.Bound == api.Refused || op.Bound == api.Free {
			continue
		}
		a, err := n.Host().Do(t.Context(), c, op, boundRequest(t, op, nil))
		if err != nil {
			t.Errorf("%s: %v", op.Name, err)
			continue
		}
		if made, ok := a.(*api.Remembered); ok {
			m, err := api.Get.Do(t.Context(), n.Host(), c, &api.GetRequest{RID: made.RID})
			if err != nil || m.Namespace != "agents/billing" {
				t.Errorf("a memory without a namespace is in %+v, %v", m, err)
			}
		}
	}
	all := c
	all.Spaces = nil
	for _, ns := range []string{"agents/billing2", "default"} {
		if s, err := api.Stats.Do(t.Context(), n.Host(), all,
			&api.StatsRequest{Namespace: ns}); err != nil || s.Active != 7 || s.Tombstoned != 0 || s.Conflicts != 1 || s.Triggers != 1 {
			t.Errorf("the token changed %s: %+v, %v", ns, s, err)
		}
	}
}
