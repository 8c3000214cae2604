package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// createDatabase makes a database; its number is the same on every node.
func (s *Service) createDatabase(ctx context.Context, c api.Caller, q *api.CreateDatabaseRequest) (*api.CreatedDatabase, error) {
	if !oplog.ValidDatabaseName(q.Name) {
		return nil, oplog.Errorf(oplog.Invalid, "database name must be 1 to 64 of A-Z a-z 0-9 . _ - and not start with a dot")
	}
	op := &oplog.CreateDB{Name: q.Name, At: oplog.At(time.Now())}
	if !c.May(api.Admin) {
		op.By, op.Most = c.DB, uint32(max(0, s.cfg.Limits.MaxDatabases))
	}
	w, err := s.write(ctx, c, write{system: true, ops: []oplog.Op{op}})
	if err != nil {
		return nil, quota(err)
	}
	return &api.CreatedDatabase{Name: q.Name, ID: oplog.DB(w.Results[0].Num), Message: fmt.Sprintf("database '%s' created", q.Name)}, nil
}

func (s *Service) dropDatabase(ctx context.Context, c api.Caller, q *api.DropDatabaseRequest) (*api.DroppedDatabase, error) {
	_, err := s.write(ctx, c, write{system: true, ops: []oplog.Op{&oplog.DropDB{Name: q.Name, At: oplog.At(time.Now())}}})
	return &api.DroppedDatabase{Name: q.Name}, err
}

func (s *Service) listDatabases(_ context.Context, c api.Caller, _ *api.DatabasesRequest) (*api.DatabaseList, error) {
	list := &api.DatabaseList{Databases: []api.Database{}}
	return list, s.state.Read(func(v *state.View) error {
		for _, d := range visible(c, v) {
			list.Databases = append(list.Databases, api.Database{ID: d.ID, Name: d.Name, Created: d.Created.Time().UTC().Format(time.DateTime)})
		}
		return nil
	})
}

// visible are the databases whose names the caller may know, by number: its own, or all.
func visible(c api.Caller, v *state.View) []oplog.Database {
	if c.May(api.Admin) {
		return v.Databases()
	}
	if d, ok := v.Database(c.DB); ok {
		return []oplog.Database{d}
	}
	return nil
}

func (s *Service) quota(_ context.Context, c api.Caller, q *api.QuotaRequest) (*api.QuotaAnswer, error) {
	d, l, err := s.bounded(c, q.Name)
	if err != nil {
		return nil, err
	}
	a := &api.QuotaAnswer{Database: d.Name, Memories: d.MaxMemories, Bounds: boundsOf(l)}
	return a, s.state.Read(func(v *state.View) error {
		a.Active = v.Stats(d.ID).Active
		return nil
	})
}

func boundsOf(l oplog.Limit) api.Bounds {
	return api.Bounds{PerSecond: l.PerSecond, Burst: l.Burst, Batch: l.Batch}
}

// bounded is a database with what each node admits of it. One that the caller may not reach is not found.
func (s *Service) bounded(c api.Caller, name string) (d oplog.Database, l oplog.Limit, err error) {
	target, err := s.access.Select(c, name)
	if err != nil {
		return d, l, err
	}
	err = s.state.Read(func(v *state.View) error {
		d, _ = v.Database(target.DB)
		l = v.Limits().Databases[target.DB]
		return nil
	})
	return d, l, err
}

// setQuota proposes one operation for the bounds on what a database holds, and one for those on its rate.
func (s *Service) setQuota(ctx context.Context, c api.Caller, q *api.SetQuotaRequest) (*api.QuotaSet, error) {
	d, l, err := s.bounded(c, q.Name)
	if err != nil {
		return nil, err
	}
	if q.Memories == nil && q.PerSecond == nil && q.Burst == nil && q.Batch == nil {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'max_memories', 'max_rps', 'burst' or 'max_batch_size'")
	}
	w := Written{Index: s.Applied()} // of a bound that is there already
	if q.Memories != nil {
		d.MaxMemories = *q.Memories
		if w, err = s.write(ctx, c, write{system: true, ops: []oplog.Op{&oplog.SetQuota{DB: d.ID, MaxMemories: d.MaxMemories}}}); err != nil {
			return nil, err
		}
	}
	to := oplog.Limit{PerSecond: orOld(q.PerSecond, l.PerSecond), Burst: orOld(q.Burst, l.Burst), Batch: orOld(q.Batch, l.Batch)}
	if to != l {
		if w, err = s.write(ctx, c, write{system: true, ops: []oplog.Op{&oplog.SetLimit{DB: d.ID, Limit: to}}}); err != nil {
			return nil, err
		}
	}
	return &api.QuotaSet{Database: d.Name, Memories: d.MaxMemories, Bounds: boundsOf(to), Index: w.Index}, nil
}

// orOld is a value that a request may leave as it was.
func orOld[T any](given *T, old T) T {
	if given == nil {
		return old
	}
	return *given
}
