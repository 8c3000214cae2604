package node

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
)

var adminRoutes = []route{
	{name: "databases_create", method: "POST", path: "/v1/databases", scope: Write, write: true, handle: createDatabase, summary: "Make a database", body: "name:string!",
		result: "name:string! id:integer! message:string!"},
	{name: "databases", method: "GET", path: "/v1/databases", scope: Read, handle: listDatabases, summary: "The databases that the token may use", result: "databases:[]Database!"},
	{name: "databases_drop", method: "DELETE", path: "/v1/databases/{name}", scope: Admin, write: true, handle: dropDatabase, summary: "Remove a database with all that is in it", result: "dropped:string!"},
	{name: "quota", method: "GET", path: "/v1/admin/databases/{name}/quota", scope: Read, handle: getQuota, summary: "What a database is bounded to; 0 for no bound",
		result: "database:string! max_memories:integer! max_rps:integer! burst:integer! max_batch_size:integer! active_memories:integer!"},
	{name: "quota_set", method: "POST", path: "/v1/admin/databases/{name}/quota", scope: Admin, write: true, handle: setQuota,
		summary: "Bound a database: its active memories, and what each node is asked; 0 for no bound, what is left out stays",
		body:    "max_memories:integer[0..] max_rps:integer[0..4294967295] burst:integer[0..4294967295] max_batch_size:integer[0..4294967295]",
		result:  "database:string! max_memories:integer! max_rps:integer! burst:integer! max_batch_size:integer! log_index:integer!"},
	{name: "me", method: "GET", path: "/v1/admin/me", scope: Read, handle: whoAmI, summary: "What the token of this request may do, and where",
		result: "database:string! database_id:integer! scopes:[]string! master:boolean! node_id:integer!"},
	{name: "tokens_create", method: "POST", path: "/v1/admin/tokens", scope: Owner, write: true, handle: createToken, summary: "Make a token; its text is shown once",
		body: "database:string database_id:integer[0..] label:string scopes:[]string expires_at:date", result: "token:string! database:string! database_id:integer! label:string! hash_prefix:string! replicated:boolean!"},
	{name: "tokens", method: "GET", path: "/v1/admin/tokens", scope: Owner, handle: listTokens, summary: "All tokens, by the beginning of their hashes", result: "tokens:[]Token!"},
	{name: "tokens_revoke", method: "POST", path: "/v1/admin/tokens/revoke", scope: Owner, write: true, handle: revokeToken, summary: "End a token, given as its text, its hash or the beginning of its hash",
		body: "token,hash:string!", result: "revoked:boolean!"},
	{name: "tokens_limit", method: "POST", path: "/v1/admin/tokens/limit", scope: Owner, write: true, handle: limitToken,
		summary: "Bound what a token asks of each node; 0 or left out for no bound", body: "token,hash:string! max_rps:integer[0..4294967295] burst:integer[0..4294967295] max_batch_size:integer[0..4294967295]",
		result: "hash_prefix:string! max_rps:integer! burst:integer! max_batch_size:integer! log_index:integer!"},
	{name: "audit", method: "GET", path: "/v1/admin/audit", scope: Admin, handle: listAudit, summary: "Who changed what of the cluster, newest first", query: "limit:integer[0..]", result: "audit:[]Audit!"},
	{name: "settings", method: "GET", path: "/v1/admin/settings", scope: Read, handle: getSettings, summary: "A database's policies; ages in seconds, 0 for none", result: settingsKeys},
	{name: "settings_set", method: "POST", path: "/v1/admin/settings", scope: Owner, write: true, handle: setSettings, summary: "Change a database's policies; what is left out stays",
		body: "working_ttl_secs:number[0..] episodic_ttl_secs:number[0..] promote_after:integer[0..] consolidate:boolean quiet_mind:boolean", result: settingsKeys},
	{name: "purge", method: "POST", path: "/v1/admin/purge", scope: Owner, write: true, handle: purge, summary: "Erase memories created before a time: texts, vectors and revisions",
		body: "before:date! namespace:string tier:string owner:string", result: "purged:integer! log_index:integer! still_held_by:[]string!"},
	{name: "log", method: "GET", path: "/v1/admin/log", scope: Admin, handle: direct((*gateway).tail), summary: "What was applied, without what it says; NDJSON",
		query: "from:integer[0..] limit:integer[0..] wait_ms:integer[0..]", media: ndjsonType},
}

const settingsKeys = "working_ttl_secs:number! episodic_ttl_secs:number! promote_after:integer! consolidate:boolean! quiet_mind:boolean! updated_at:number?"

func settingsRow(set oplog.Settings) map[string]any {
	return map[string]any{"working_ttl_secs": set.WorkingTTL.Seconds(), "episodic_ttl_secs": set.EpisodicTTL.Seconds(), "promote_after": set.PromoteAfter,
		"consolidate": set.Consolidate, "quiet_mind": set.QuietMind, "updated_at": when(set.Updated)}
}

func getSettings(g *gateway, q *request) (any, error) {
	set, err := g.s.DatabaseSettings(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	return settingsRow(set), nil
}

func setSettings(g *gateway, q *request) (any, error) {
	set, err := g.s.DatabaseSettings(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	micros := func(seconds float64) oplog.Time { return oplog.Time(min(seconds, maxAge) * 1e6) }
	set.WorkingTTL = micros(q.body.num("working_ttl_secs", set.WorkingTTL.Seconds()))
	set.EpisodicTTL = micros(q.body.num("episodic_ttl_secs", set.EpisodicTTL.Seconds()))
	set.PromoteAfter = q.body.whole("promote_after", set.PromoteAfter)
	set.Consolidate, set.QuietMind = q.body.flag("consolidate", set.Consolidate), q.body.flag("quiet_mind", set.QuietMind)
	if _, err := g.s.SetDatabaseSettings(q.r.Context(), q.c, set); err != nil {
		return nil, err
	}
	return getSettings(g, q)
}

// maxAge bounds an age in seconds: a century.
const maxAge = 100 * 365 * 86400

func purge(g *gateway, q *request) (any, error) {
	before := q.body.date("before")
	if before.IsZero() {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'before'")
	}
	n, w, err := g.s.Purge(q.r.Context(), q.c, PurgeFilter{Before: before, Tier: q.body.str("tier", ""), Owner: q.body.str("owner", ""), Namespace: q.body.str("namespace", "")})
	if err != nil {
		return nil, err
	}
	return map[string]any{"purged": n, "log_index": w.Index, "still_held_by": stillHolds(w.Index)}, nil
}

func createDatabase(g *gateway, q *request) (any, error) {
	name, err := q.body.must("name")
	if err != nil {
		return nil, err
	}
	id, _, err := g.s.CreateDatabase(q.r.Context(), q.c, name)
	if err != nil {
		return nil, quota(err)
	}
	return map[string]any{"name": name, "id": id, "message": fmt.Sprintf("database '%s' created", name)}, nil
}

func listDatabases(g *gateway, q *request) (any, error) {
	dbs, err := g.s.Databases(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]any, len(dbs))
	for i, d := range dbs {
		rows[i] = map[string]any{"id": d.ID, "name": d.Name, "created_at": d.Created.Time().UTC().Format(time.DateTime)}
	}
	return map[string]any{"databases": rows}, nil
}

const hashPrefix = 12 // hex digits of a token's hash that are shown

func createToken(g *gateway, q *request) (any, error) {
	database, err := g.s.databaseOf(q.c, q.body)
	if err != nil {
		return nil, err
	}
	expires := q.body.date("expires_at")
	label := q.body.str("label", "")
	text, err := g.s.CreateToken(q.r.Context(), q.c, database.Name, label, q.body.strs("scopes"), expires)
	if err != nil {
		return nil, err
	}
	return map[string]any{"token": text, "database": database.Name, "database_id": database.ID, "label": label, "hash_prefix": HashToken(text)[:hashPrefix], "replicated": true}, nil
}

func revokeToken(g *gateway, q *request) (any, error) {
	token := q.body.str("token", "")
	if token == "" {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'token'")
	}
	done, err := g.s.RevokeToken(q.r.Context(), q.c, token)
	return map[string]bool{"revoked": done}, err
}

// TokenRow is a token as GET /v1/admin/tokens lists it. Times are Unix seconds.
type TokenRow struct {
	HashPrefix string   `json:"hash_prefix"`
	Database   string   `json:"database"`
	Label      string   `json:"label"`
	Scopes     []string `json:"scopes"`
	Created    float64  `json:"created_at"`
	Expires    *float64 `json:"expires_at"`
	Revoked    *float64 `json:"revoked_at"`
	Used       *float64 `json:"last_used_at"`
	MaxRPS     uint32   `json:"max_rps"`
	Burst      uint32   `json:"burst"`
	MaxBatch   uint32   `json:"max_batch_size"`
}

func listTokens(g *gateway, q *request) (any, error) {
	tokens, err := g.s.Tokens(q.r.Context(), q.c)
	if err != nil {
		return nil, err
	}
	names := map[oplog.DB]string{}
	dbs, err := g.s.Databases(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	for _, d := range dbs {
		names[d.ID] = d.Name
	}
	rows := make([]TokenRow, len(tokens))
	for i, t := range tokens {
		rows[i] = TokenRow{HashPrefix: beginning(t.Hash), Database: names[t.DB], Label: t.Label, Scopes: orEmpty(t.Scopes),
			Created: t.Created.Seconds(), Expires: when(t.Expires), Revoked: when(t.Revoked),
			Used: when(t.Used), MaxRPS: t.Limit.PerSecond, Burst: t.Limit.Burst, MaxBatch: t.Limit.Batch}
	}
	return map[string]any{"tokens": rows}, nil
}

// byAge puts tokens in the order they were made; by hash they have none that a reader could follow.
func byAge(tokens []oplog.Token) {
	slices.SortStableFunc(tokens, func(a, b oplog.Token) int { return cmp.Compare(a.Created, b.Created) })
}

func dropDatabase(g *gateway, q *request) (any, error) {
	name := q.r.PathValue("name")
	if err := g.s.DropDatabase(q.r.Context(), q.c, name); err != nil {
		return nil, err
	}
	return map[string]string{"dropped": name}, nil
}

// databaseOf is the database a body names, by name or number. One that the caller may not use is not found.
func (s *Service) databaseOf(c Caller, f fields) (d oplog.Database, err error) {
	err = s.state.Read(func(v *oplog.View) error {
		ok, absent := false, oplog.Errorf(oplog.NotFound, "database not found")
		if id := f.whole("database_id", 0); id > 0 {
			d, ok = v.Database(oplog.DB(id))
		} else {
			name := f.str("database", "default")
			d, ok = v.DatabaseNamed(name)
			absent = oplog.Errorf(oplog.NotFound, "database '%s' not found", name)
		}
		if !ok || d.ID != c.DB && !c.May(Admin) {
			return absent
		}
		return nil
	})
	return d, err
}

func quotaRow(d oplog.Database, l oplog.Limit) map[string]any {
	return map[string]any{"database": d.Name, "max_memories": d.MaxMemories, "max_rps": l.PerSecond, "burst": l.Burst, "max_batch_size": l.Batch}
}

func getQuota(g *gateway, q *request) (any, error) {
	d, l, err := g.s.Limits(q.r.Context(), q.c, q.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	row := quotaRow(d, l)
	err = g.s.state.Read(func(v *oplog.View) error {
		row["active_memories"] = v.Stats(d.ID).Active
		return nil
	})
	return row, err
}

// setQuota makes two changes where two are asked for: bounds that every version knows stand by themselves.
func setQuota(g *gateway, q *request) (any, error) {
	ctx, name := q.r.Context(), q.r.PathValue("name")
	d, l, err := g.s.Limits(ctx, q.c, name)
	if err != nil {
		return nil, err
	}
	to := limitOf(q.body, l)
	most, bounded := decoded[uint64](q.body, "max_memories") // what is no number must not take the bound away
	rated := slices.ContainsFunc([]string{"max_rps", "burst", "max_batch_size"}, func(name string) bool {
		_, ok := decoded[uint32](q.body, name)
		return ok
	})
	if !bounded && !rated {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'max_memories', 'max_rps', 'burst' or 'max_batch_size'")
	}
	w := Written{Index: g.s.Applied()} // of a bound that is there already
	if bounded {
		d.MaxMemories = most
		if w, err = g.s.SetQuota(ctx, q.c, name, d.MaxMemories); err != nil {
			return nil, err
		}
	}
	if to != l {
		if w, err = g.s.SetLimit(ctx, q.c, name, to); err != nil {
			return nil, err
		}
		l = to
	}
	row := quotaRow(d, l)
	row["log_index"] = w.Index
	return row, nil
}

// limitOf is a bound as a body changes it.
func limitOf(f fields, l oplog.Limit) oplog.Limit {
	whole := func(name string, old uint32) uint32 { return uint32(min(f.whole(name, uint64(old)), math.MaxUint32)) }
	return oplog.Limit{PerSecond: whole("max_rps", l.PerSecond), Burst: whole("burst", l.Burst), Batch: whole("max_batch_size", l.Batch)}
}

func limitToken(g *gateway, q *request) (any, error) {
	token := q.body.str("token", "")
	if token == "" {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'token'")
	}
	l := limitOf(q.body, oplog.Limit{})
	t, w, err := g.s.LimitToken(q.r.Context(), q.c, token, l)
	if err != nil {
		return nil, err
	}
	return map[string]any{"hash_prefix": beginning(t.Hash), "max_rps": l.PerSecond, "burst": l.Burst, "max_batch_size": l.Batch, "log_index": w.Index}, nil
}

// AuditRow is a change as GET /v1/admin/audit lists it.
type AuditRow struct {
	Index oplog.Index `json:"log_index"`
	At    float64     `json:"at"`
	By    string      `json:"by"`
	Label string      `json:"label"`
	What  string      `json:"what"`
	On    string      `json:"on"`
	How   string      `json:"how"`
	Node  uint32      `json:"node_id"`
}

func listAudit(g *gateway, q *request) (any, error) {
	limit, err := intParam(q.r, "limit", 100)
	if err != nil {
		return nil, err
	}
	list, err := g.s.Audits(q.r.Context(), q.c, Stale, limit)
	if err != nil {
		return nil, err
	}
	rows := make([]AuditRow, len(list))
	for i, r := range list {
		rows[i] = AuditRow{r.Index, r.At.Seconds(), r.By, r.Label, r.What, r.On, r.How, r.Node}
	}
	return map[string]any{"audit": rows}, nil
}

func whoAmI(g *gateway, q *request) (any, error) {
	return map[string]any{"database": q.c.Database, "database_id": q.c.DB, "scopes": q.c.Scopes, "master": q.c.Token == "", "node_id": g.s.cfg.NodeID}, nil
}
