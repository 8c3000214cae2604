package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// A task is a memory under a key that ends in its id. The id finds it in any namespace; the folder lists those of
// one.

const (
	taskFolder = "/.tasks/"
	kindTask   = "task"
)

// errNoTask rejects a request for a task that does not exist.
var errNoTask = &oplog.Error{Kind: oplog.NotFound, Text: "no such task"}

// urgencies are the priorities of tasks, the most urgent first.
var urgencies = []string{"critical", "high", "medium", "low"}

// taskState holds a task's attributes.
type taskState struct {
	Status   string `json:"status"`
	Priority string `json:"priority"`
	Parent   string `json:"parent_id,omitempty"`
}

func stateOf(m *oplog.Memory) (t taskState) {
	_ = json.Unmarshal(m.Attributes, &t) // attributes are canonical, but a client may have given others
	return t
}

func taskOf(m *oplog.Memory) api.Task {
	t := stateOf(m)
	return api.Task{ID: m.RID, Namespace: m.Namespace, Title: m.Text, Status: t.Status, Priority: t.Priority, Parent: api.OrNil(t.Parent),
		Created: m.Created.Seconds(), Updated: m.Updated.Seconds(), Revision: m.Revision}
}

// findTask finds an active task by its id.
func findTask(v *state.View, db oplog.DB, id string) (*oplog.Memory, error) {
	m, ok := v.Memory(db, id)
	if !ok || m.Status != oplog.Active || m.Type != kindTask || !strings.HasPrefix(m.Path, taskFolder) {
		return nil, errNoTask
	}
	return m, nil
}

// currentTask finds a task in a state that has everything that was acknowledged on any node.
func (s *Service) currentTask(ctx context.Context, db oplog.DB, id string) (m *oplog.Memory, err error) {
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
		return nil, err
	}
	err = s.state.Read(func(v *state.View) error {
		m, err = findTask(v, db, id)
		return err
	})
	return m, err
}

func (s *Service) addTask(ctx context.Context, c api.Caller, q *api.AddTaskRequest) (*api.AddedTask, error) {
	if err := cmp.Or(checkText("title", q.Title, MaxReason), checkText("status", q.Status, maxLabel)); err != nil {
		return nil, err
	}
	if q.Parent != "" {
		_, err := s.currentTask(ctx, c.DB, q.Parent)
		switch {
		case errors.Is(err, errNoTask) && s.countAnswered(c.DB, []string{q.Key}) > 0: // it was stored before its parent was deleted
		case errors.Is(err, errNoTask):
			return nil, oplog.Errorf(oplog.NotFound, "parent_id: no such task")
		case err != nil:
			return nil, err
		}
	}
	d := unsearchableDraft(orDefault(q.Namespace), kindTask, q.Title, taskState{q.Status, q.Priority, q.Parent})
	d.RID, d.TTL = oplog.NewID(), new(0.0)
	d.Path = taskFolder + d.RID
	w, err := s.store(ctx, c, q.Key, d)
	return &api.AddedTask{ID: w.First.ID, Index: field.Token(w.Index), Redacted: w.Redacted}, err
}

func (s *Service) task(v *state.View, c api.Caller, q *api.GetTaskRequest) (*api.Task, error) {
	m, err := findTask(v, c.DB, q.ID)
	if err != nil {
		return nil, err
	}
	return new(taskOf(m)), nil
}

func (s *Service) tasks(v *state.View, c api.Caller, q *api.TasksRequest) (*api.TaskList, error) {
	keyed := func(f func(*oplog.Memory) bool) {
		v.Keys(c.DB, orDefault(q.Namespace), taskFolder, "", 0, func(_ string, m *oplog.Memory) bool { return f(m) })
	}
	found, cut := state.Collect(state.MaxScan, keyed, func(m *oplog.Memory) bool {
		t := stateOf(m)
		return m.Type == kindTask && (q.Status == "all" || q.Status == "" || q.Status == t.Status) &&
			(q.Parent == "" || q.Parent == t.Parent)
	})
	all := api.Each(found, taskOf)
	slices.SortStableFunc(all, func(a, b api.Task) int {
		return cmp.Or(cmp.Compare(slices.Index(urgencies, a.Priority), slices.Index(urgencies, b.Priority)),
			cmp.Compare(a.Created, b.Created))
	})
	left, list := byteBudget{hold: c.Hold}, &api.TaskList{Tasks: []api.Task{}}
	for _, t := range all {
		if len(list.Tasks) == min(max(q.Limit, 0), api.MaxList) || !left.reserve(512+len(t.Title)) {
			list.More = true
			break
		}
		list.Tasks = append(list.Tasks, t)
	}
	if list.Count = len(list.Tasks); cut {
		list.More, list.Bounded = true, api.Cut(state.MaxScan, "tasks, the first added,", "delete those that are done")
	}
	return list, nil
}

// changeTask corrects a task. If another client changes the task meanwhile, it decides the correction again, unless
// the request names the revision.
func (s *Service) changeTask(ctx context.Context, c api.Caller, q *api.ChangeTaskRequest) (*api.ChangedTask, error) {
	if q.Status == nil && q.Priority == nil && q.Title == nil {
		return nil, oplog.Errorf(oplog.Invalid, "nothing to change: give a status, a priority or a title")
	}
	if err := cmp.Or(checkText("status", api.OrOld(q.Status, "-"), maxLabel), checkText("title", api.OrOld(q.Title, "-"), MaxReason)); err != nil {
		return nil, err
	}
	for range maxKeyTries {
		m, err := s.currentTask(ctx, c.DB, q.ID)
		if err != nil {
			return nil, err
		}
		t := stateOf(m)
		t.Status, t.Priority = api.OrOld(q.Status, t.Status), api.OrOld(q.Priority, t.Priority)
		attributes, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		done, err := s.correct(ctx, c,
			&api.CorrectRequest{RID: q.ID, Text: q.Title, Attributes: attributes, Expected: cmp.Or(q.Expected, &m.Revision),
				Reason: "task changed"})
		if q.Expected == nil && (api.RefusedAs(err, "revision_conflict") || errors.Is(err, oplog.ErrRevision)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &api.ChangedTask{ID: q.ID, Updated: true, Revision: done.Revision, Index: done.Index, Redacted: done.Redacted}, nil
	}
	return nil, oplog.Errorf(oplog.Unavailable, "other clients change the task all the time; retry")
}

func (s *Service) dropTask(ctx context.Context, c api.Caller, q *api.DropTaskRequest) (*api.DroppedTask, error) {
	if _, err := s.currentTask(ctx, c.DB, q.ID); err != nil {
		return nil, err
	}
	done, err := s.forget(ctx, c, &api.ForgetRequest{RID: q.ID, Reason: "task deleted"})
	if err != nil {
		return nil, err
	}
	return &api.DroppedTask{ID: q.ID, Deleted: true, Index: done.Index}, nil
}
