package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// CreateDatabase makes a database; its number is the same on every node.
func (s *Service) CreateDatabase(ctx context.Context, c Caller, name string) (oplog.DB, Written, error) {
	if !oplog.ValidDatabaseName(name) {
		return 0, Written{}, oplog.Errorf(oplog.Invalid, "database name must be 1 to 64 of A-Z a-z 0-9 . _ - and not start with a dot")
	}
	op := &oplog.CreateDB{Name: name, At: oplog.At(time.Now())}
	if !c.May(Admin) {
		op.By, op.Most = c.DB, uint32(max(0, s.cfg.MaxDatabases))
	}
	w, err := s.write(ctx, c, write{scope: Write, system: true, ops: []oplog.Op{op}})
	if err != nil {
		return 0, w, err
	}
	return oplog.DB(w.Results[0].Num), w, nil
}

// DropDatabase removes a database with all that is in it; tokens for it are revoked.
func (s *Service) DropDatabase(ctx context.Context, c Caller, name string) error {
	_, err := s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{&oplog.DropDB{Name: name, At: oplog.At(time.Now())}}})
	return err
}

// SetQuota bounds a database's active memories; 0 is no bound.
func (s *Service) SetQuota(ctx context.Context, c Caller, database string, memories uint64) (Written, error) {
	target, err := s.Select(c, database)
	if err != nil {
		return Written{}, err
	}
	return s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{&oplog.SetQuota{DB: target.DB, MaxMemories: memories}}})
}

// Databases lists the databases that the caller may use, by number.
func (s *Service) Databases(ctx context.Context, c Caller, f Freshness) (dbs []oplog.Database, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		dbs = visible(c, v)
		return nil
	})
	return dbs, err
}

// visible are the databases whose names the caller may know: its own, or all.
func visible(c Caller, v *oplog.View) []oplog.Database {
	if c.May(Admin) {
		return v.Databases()
	}
	if d, ok := v.Database(c.DB); ok {
		return []oplog.Database{d}
	}
	return nil
}

// SetLimit bounds what a database is asked of each node; the zero limit takes the bound away.
func (s *Service) SetLimit(ctx context.Context, c Caller, database string, l oplog.Limit) (Written, error) {
	target, err := s.Select(c, database)
	if err != nil {
		return Written{}, err
	}
	return s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{&oplog.SetLimit{DB: target.DB, Limit: l}}})
}

// Limits are the bounds of a database.
func (s *Service) Limits(ctx context.Context, c Caller, database string) (d oplog.Database, l oplog.Limit, err error) {
	target, err := s.Select(c, database)
	if err != nil {
		return d, l, err
	}
	err = s.read(ctx, c, Stale, func(v *oplog.View) error {
		d, _ = v.Database(target.DB)
		l = v.Limits().Databases[target.DB]
		return nil
	})
	return d, l, err
}
