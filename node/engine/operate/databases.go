package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// CreateDatabase creates a database. Its number is the same on every node.
func (ad *Admin) CreateDatabase(ctx context.Context, c api.Caller, q *api.CreateDatabaseRequest) (*api.CreatedDatabase, error) {
	if !oplog.ValidDatabaseName(q.Name) {
		return nil, oplog.Errorf(oplog.Invalid, oplog.DatabaseNameRule)
	}
	op := &oplog.CreateDB{Name: q.Name, At: oplog.At(ad.cfg.Access.Now())}
	if !c.May(api.Admin) {
		op.By, op.Most = c.DB, uint32(max(0, ad.cfg.MaxDatabases))
	}
	_, created, err := ad.propose(ctx, c, op)
	return &api.CreatedDatabase{Name: q.Name, ID: oplog.DB(created.Num), Message: fmt.Sprintf("database '%s' created", q.Name)}, err
}

// DropDatabase drops a database. Its rows are erased in the background.
func (ad *Admin) DropDatabase(ctx context.Context, c api.Caller, q *api.DropDatabaseRequest) (*api.DroppedDatabase, error) {
	_, _, err := ad.propose(ctx, c, &oplog.DropDB{Name: q.Name, At: oplog.At(ad.cfg.Access.Now())})
	return &api.DroppedDatabase{Name: q.Name}, err
}

// Databases lists the databases that the caller may know.
func (ad *Admin) Databases(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.DatabaseList, error) {
	return &api.DatabaseList{Databases: api.Each(access.Visible(c, v), func(d oplog.Database) api.Database {
		return api.Database{ID: d.ID, Name: d.Name, Created: d.Created.Time().UTC().Format(time.DateTime)}
	})}, nil
}

// Quota returns the bounds of a database.
func (ad *Admin) Quota(_ context.Context, c api.Caller, q *api.QuotaRequest) (*api.QuotaAnswer, error) {
	d, l, active, err := ad.limitsOf(c, q.Name)
	return &api.QuotaAnswer{Database: d.Name, Memories: d.MaxMemories, Bounds: api.Bounds(l), Active: active}, err
}

// limitsOf returns a database, its rate limit on each node, and the number of its active memories. A database that
// the caller may not reach is not found.
func (ad *Admin) limitsOf(c api.Caller, name string) (d oplog.Database, l oplog.Limit, active uint64, err error) {
	target, err := ad.cfg.Access.Select(c, name)
	if err != nil {
		return d, l, 0, err
	}
	err = ad.cfg.State.Inspect(func(v *state.View) {
		d, _ = v.Database(target.DB)
		l, active = v.Limits().Databases[target.DB], v.Stats(target.DB).Active
	})
	return d, l, active, err
}

// SetQuota changes the quota and the rate limit of a database, in one entry.
func (ad *Admin) SetQuota(ctx context.Context, c api.Caller, q *api.SetQuotaRequest) (*api.QuotaSet, error) {
	done, err := ad.beginExclusive(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	d, l, _, err := ad.limitsOf(c, q.Name)
	if err != nil {
		return nil, err
	}
	if q.Memories == nil && q.PerSecond == nil && q.Burst == nil && q.Batch == nil {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'max_memories', 'max_rps', 'burst' or 'max_batch_size'")
	}
	at := ad.cfg.Commit.Applied() // the index in the answer if nothing changes
	var ops []oplog.Op
	if q.Memories != nil {
		d.MaxMemories = *q.Memories
		ops = append(ops, &oplog.SetQuota{DB: d.ID, MaxMemories: d.MaxMemories})
	}
	to := oplog.Limit{PerSecond: api.OrOld(q.PerSecond, l.PerSecond), Burst: api.OrOld(q.Burst, l.Burst),
		Batch: api.OrOld(q.Batch, l.Batch)}
	if to != l {
		ops = append(ops, &oplog.SetLimit{DB: d.ID, Limit: to})
	}
	if len(ops) > 0 {
		at, _, err = ad.propose(ctx, c, ops...)
	}
	return &api.QuotaSet{Database: d.Name, Memories: d.MaxMemories, Bounds: api.Bounds(to), Index: field.Token(at)}, err
}

// Settings returns the policies of the caller's database.
func (ad *Admin) Settings(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.Policies, error) {
	return policiesOf(v.Settings(c.DB)), nil
}

func policiesOf(set oplog.Settings) *api.Policies {
	return &api.Policies{WorkingTTL: set.WorkingTTL.Seconds(), EpisodicTTL: set.EpisodicTTL.Seconds(),
		DefaultTTL: set.DefaultTTL.Seconds(), PromoteAfter: set.PromoteAfter,
		Consolidate: set.Consolidate, QuietMind: set.QuietMind, Single: api.OrEmpty(set.Single),
		Several: api.OrEmpty(set.Several), Lift: api.OrEmpty(set.Lift), Redact: set.Redact.String(), Updated: api.When(set.Updated)}
}

// SetSettings changes the policies that the request names.
func (ad *Admin) SetSettings(ctx context.Context, c api.Caller, q *api.SetSettingsRequest) (*api.Policies, error) {
	done, err := ad.beginExclusive(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	set, err := state.Get(ad.cfg.State, func(v *state.View) oplog.Settings { return v.Settings(c.DB) })
	if err != nil {
		return nil, err
	}
	for _, age := range []struct {
		given *float64
		to    *oplog.Time
	}{{q.WorkingTTL, &set.WorkingTTL}, {q.EpisodicTTL, &set.EpisodicTTL}, {q.DefaultTTL, &set.DefaultTTL}} {
		if age.given == nil {
			continue
		}
		if !(*age.given >= 0) { // also rejects NaN
			return nil, oplog.Errorf(oplog.Invalid, "a time to live must not be negative")
		}
		*age.to = oplog.Time(min(*age.given, api.MaxAge) * 1e6)
	}
	set.PromoteAfter = api.OrOld(q.PromoteAfter, set.PromoteAfter)
	set.Consolidate, set.QuietMind = api.OrOld(q.Consolidate, set.Consolidate), api.OrOld(q.QuietMind, set.QuietMind)
	for _, r := range []oplog.Redact{oplog.RedactCaptures, oplog.RedactAll, oplog.RedactNone} {
		if q.Redact != nil && *q.Redact == r.String() {
			set.Redact = r
		}
	}
	for _, list := range []struct {
		given *[]string
		to    *[]string
	}{{q.Single, &set.Single}, {q.Several, &set.Several}} {
		if *list.to = api.OrOld(list.given, *list.to); len(*list.to) > maxRelations {
			return nil, oplog.Errorf(oplog.TooLarge, "%d relations: at most %d", len(*list.to), maxRelations)
		}
	}
	set.Lift = api.OrOld(q.Lift, set.Lift)
	if err := cmp.Or(oplog.CheckNames(slices.Concat(set.Single, set.Several)...), checkLift(set.Lift)); err != nil {
		return nil, err
	}
	set.Updated = oplog.At(ad.cfg.Access.Now())
	_, _, err = ad.cfg.Write(ctx, c, &oplog.SetSettings{Settings: set})
	return policiesOf(set), err
}

// maxRelations bounds the relations that a database's policies name.
const maxRelations = 100

// checkLift rejects names that cannot be attributes.
func checkLift(names []string) error {
	if len(names) > filter.MaxAttributes {
		return oplog.Errorf(oplog.TooLarge, "lift: %d names: at most %d", len(names), filter.MaxAttributes)
	}
	for _, name := range names {
		if !filter.ValidName(name) {
			return oplog.Errorf(oplog.Invalid, "lift: %s is no name of an attribute", api.Quoted(name))
		}
	}
	return nil
}
