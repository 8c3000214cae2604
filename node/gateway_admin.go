package node

import (
	"fmt"
	"time"

	"github.com/cairndb/cairn/oplog"
)

var adminRoutes = []route{
	{method: "GET", path: "/v1/cluster", handle: clusterStatus, summary: "The cluster as this node sees it"},
	{method: "POST", path: "/v1/cluster/{verb}", scope: Admin, handle: changeMembers, summary: "Change who belongs to the cluster: join, remove, promote, transfer",
		body: "node_id:integer addr:string role:string"},
	{method: "POST", path: "/v1/databases", scope: Write, write: true, handle: createDatabase, summary: "Make a database", body: "name:string!"},
	{method: "GET", path: "/v1/databases", scope: Read, handle: listDatabases, summary: "All databases"},
	{method: "DELETE", path: "/v1/databases/{name}", scope: Admin, write: true, handle: dropDatabase, summary: "Remove a database with all that is in it"},
	{method: "POST", path: "/v1/admin/tokens", scope: Admin, write: true, handle: createToken, summary: "Make a token; its text is shown once",
		body: "database:string label:string scopes:array expires_at:number"},
	{method: "GET", path: "/v1/admin/tokens", scope: Admin, handle: listTokens, summary: "All tokens, by the beginning of their hashes"},
	{method: "POST", path: "/v1/admin/tokens/revoke", scope: Admin, write: true, handle: revokeToken, summary: "End a token", body: "token:string!"},
	{method: "GET", path: "/v1/admin/log", scope: Admin, handle: direct((*gateway).tail), summary: "What was applied, without what it says; NDJSON",
		query: "from:integer limit:integer wait_ms:integer database:string"},
	{method: "GET", path: "/v1/export", scope: Read, handle: direct((*gateway).export), summary: "A database's memories and relations; NDJSON", query: "database:string"},
}

func clusterStatus(g *gateway, q *request) (any, error) { return g.s.Status(q.r.Context()), nil }

func changeMembers(g *gateway, q *request) (any, error) {
	req := MemberChange{Verb: q.r.PathValue("verb"), NodeID: uint32(q.body.whole("node_id", 0)), Addr: q.body.str("addr", ""), Role: q.body.str("role", "")}
	msg, err := g.s.ChangeMembers(q.r.Context(), req)
	if err != nil {
		return nil, err
	}
	return map[string]string{"status": "ok", "message": msg}, nil
}

func createDatabase(g *gateway, q *request) (any, error) {
	name, err := q.body.must("name")
	if err != nil {
		return nil, err
	}
	id, _, err := g.s.CreateDatabase(q.r.Context(), q.c, name)
	if err != nil {
		return nil, err
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
	database := q.body.str("database", "default")
	var expires time.Time
	if at := q.body.num("expires_at", 0); at > 0 {
		expires = time.UnixMicro(int64(at * 1e6))
	}
	label := q.body.str("label", "")
	text, err := g.s.CreateToken(q.r.Context(), q.c, database, label, q.body.strs("scopes"), expires)
	if err != nil {
		return nil, err
	}
	return map[string]any{"token": text, "database": database, "label": label, "hash_prefix": HashToken(text)[:hashPrefix], "replicated": true}, nil
}

func revokeToken(g *gateway, q *request) (any, error) {
	token, err := q.body.must("token")
	if err != nil {
		return nil, err
	}
	done, err := g.s.RevokeToken(q.r.Context(), q.c, token)
	return map[string]bool{"revoked": done}, err
}

type tokenRow struct {
	HashPrefix string   `json:"hash_prefix"`
	Database   string   `json:"database"`
	Label      string   `json:"label"`
	Scopes     []string `json:"scopes"`
	Created    float64  `json:"created_at"`
	Expires    *float64 `json:"expires_at"`
	Revoked    *float64 `json:"revoked_at"`
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
	optional := func(t oplog.Time) *float64 {
		if t == 0 {
			return nil
		}
		s := t.Seconds()
		return &s
	}
	rows := make([]tokenRow, len(tokens))
	for i, t := range tokens {
		rows[i] = tokenRow{HashPrefix: t.Hash[:hashPrefix], Database: names[t.DB], Label: t.Label, Scopes: t.Scopes,
			Created: t.Created.Seconds(), Expires: optional(t.Expires), Revoked: optional(t.Revoked)}
	}
	return map[string]any{"tokens": rows}, nil
}

func dropDatabase(g *gateway, q *request) (any, error) {
	name := q.r.PathValue("name")
	if err := g.s.DropDatabase(q.r.Context(), q.c, name); err != nil {
		return nil, err
	}
	return map[string]string{"dropped": name}, nil
}
