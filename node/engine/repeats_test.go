package engine_test

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestRepeatsAfterTheirParentIsGone: a task under a parent and an outcome of a skill, stored under idempotency keys,
// can be repeated after the parent and the skill are gone and get the same answers. New ones are rejected.
func TestRepeatsAfterTheirParentIsGone(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	host := n.Host()
	parent, err := api.AddTask.Do(t.Context(), host, c, &api.AddTaskRequest{Title: "move house", Status: "open", Priority: "low"})
	if err != nil {
		t.Fatal(err)
	}
	skill := &api.DefineSkillRequest{ID: "release.notes", Body: strings.Repeat("Write a line for each change. ", 3), Kind: "procedure",
		For: []string{"release"}}
	defined, err := api.DefineSkill.Do(t.Context(), host, c, skill)
	if err != nil {
		t.Fatal(err)
	}
	task := func(key string) (string, error) {
		a, err := api.AddTask.Do(t.Context(), host, c,
			&api.AddTaskRequest{Title: "pack", Status: "open", Priority: "low", Parent: parent.ID, Key: key})
		if err != nil {
			return "", err
		}
		return a.ID, nil
	}
	outcome := func(key string) (string, error) {
		a, err := api.NoteOutcome.Do(t.Context(), host, c, &api.NoteOutcomeRequest{ID: skill.ID, Succeeded: true, Key: key})
		if err != nil {
			return "", err
		}
		return a.RID, nil
	}
	writes := map[string]func(string) (string, error){"task": task, "outcome": outcome}
	stored := map[string]string{}
	for name, write := range writes {
		if stored[name], err = write(name); err != nil {
			t.Fatal(name, err)
		}
	}
	for _, rid := range []string{parent.ID, defined.RID} {
		if _, err := api.Forget.Do(t.Context(), host, c, &api.ForgetRequest{RID: rid}); err != nil {
			t.Fatal(err)
		}
	}
	for name, write := range writes {
		if id, err := write(name); err != nil || id != stored[name] {
			t.Errorf("%s again: %s, %v; want %s", name, id, err, stored[name])
		}
		if _, err := write(name + " of another"); err == nil || !strings.Contains(err.Error(), "no such") {
			t.Errorf("another %s: %v", name, err)
		}
	}
}
