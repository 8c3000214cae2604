package engine

import (
	"context"
	"reflect"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// checkNamespaces restricts a bound token's request to the token's namespaces. Every namespace that the request names
// must be one of them, and so must that of every memory, session, conflict and trigger whose id it has; others are
// not found. If an operation needs a single namespace and the request names none, it gets the token's first.
func (s *Service) checkNamespaces(ctx context.Context, c api.Caller, op *api.Op, request any) error {
	if !c.Spaces.Bind() || op.Bound == api.Free {
		return nil
	}
	b := requestNames{c: c, single: op.Bound == api.Single}
	if err := b.walk(reflect.ValueOf(request).Elem()); err != nil {
		return err
	}
	return s.requireExisting(ctx, &b, op.Writes)
}

// requireExisting returns an error for the first id of a binding that does not exist. With sure, it first waits until
// this node is as current as the leader, because another node may have stored the id's row, and this node may not
// have applied it yet.
func (s *Service) requireExisting(ctx context.Context, b *requestNames, sure bool) error {
	missed, err := state.Get(s.state, b.firstMissing)
	if err == nil && (missed != nil || b.unsure) && sure {
		if err = s.commit.Fresh(ctx, commit.Linearizable); err == nil {
			missed, err = state.Get(s.state, b.firstMissing)
		}
	}
	if err != nil {
		return err
	}
	return missed
}

// feedback stores judgements. It rejects a judgement of a memory that does not exist.
func (s *Service) feedback(ctx context.Context, c api.Caller, q *api.FeedbackRequest) (*api.Heeded, error) {
	b := requestNames{c: c}
	if err := b.walk(reflect.ValueOf(q).Elem()); err != nil {
		return nil, err
	}
	if err := s.requireExisting(ctx, &b, true); err != nil {
		return nil, err
	}
	return s.thinker.Feedback(ctx, c, q)
}

// A requestNames holds a request and the ids and namespaces in it.
type requestNames struct {
	c      api.Caller
	single bool
	unsure bool // it names a session that this node does not know
	ids    []struct{ of, id string }
}

// walk reads the fields of a request, and of the structs in it.
func (b *requestNames) walk(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return b.walk(v.Elem())
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Struct && k != reflect.Pointer {
			return nil
		}
		for i := range v.Len() {
			if err := b.walk(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := b.field(v.Type().Field(i), v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *requestNames) field(f reflect.StructField, v reflect.Value) error {
	if !f.IsExported() {
		return nil
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "namespace":
		space := strings.TrimSpace(v.String())
		if space == "" && b.single {
			space = b.c.Spaces.First()
		}
		v.SetString(space)
		return b.requireNamespace(space)
	case name == "namespaces":
		for i := range v.Len() {
			if err := b.requireNamespace(v.Index(i).String()); err != nil {
				return err
			}
		}
	case f.Tag.Get("names") == "namespace":
		return b.requireNamespace(strings.TrimSpace(v.String()))
	case f.Tag.Get("names") != "":
		of, ids := f.Tag.Get("names"), []string{v.String()}
		if v.Kind() == reflect.Slice {
			ids = v.Interface().([]string)
		}
		for _, id := range ids {
			if id != "" && of != "-" {
				b.ids = append(b.ids, struct{ of, id string }{of, id})
			}
		}
	default:
		return b.walk(v)
	}
	return nil
}

// requireNamespace rejects a namespace outside the token's.
func (b *requestNames) requireNamespace(space string) error {
	if space == "" || b.c.Spaces.Has(space) {
		return nil
	}
	return api.OutOfBound(b.c, "namespace %q is outside: name one below, or none", space)
}

// firstMissing returns the error for the first id that does not exist in the caller's namespaces; nil if all exist.
// It ignores sessions that were never started: a memory that names one starts it.
func (b *requestNames) firstMissing(v *state.View) error {
	for _, x := range b.ids {
		r, there, missing := b.c.Reach(""), false, oplog.ErrNoMemory
		switch x.of {
		case "memory":
			m, ok := v.Memory(b.c.DB, x.id)
			there = ok && r.Has(m.Namespace)
		case "session":
			missing = oplog.ErrNoSession
			m, ok := v.Session(b.c.DB, x.id)
			there, b.unsure = !ok || r.Has(m.Namespace), b.unsure || !ok
		case "conflict":
			missing = oplog.Errorf(oplog.NotFound, "memory not found: conflict: %s", x.id) // as resolve says it
			m, ok := v.Conflict(b.c.DB, x.id)
			there = ok && v.ConflictWithin(b.c.DB, r, &m)
		case "trigger":
			missing = oplog.ErrNoTrigger
			m, ok := v.Trigger(b.c.DB, x.id)
			there = ok && v.Within(b.c.DB, r, m.Sources)
		}
		if !there {
			return missing
		}
	}
	return nil
}
