package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Tokens. A token is for one database. A caller with the scope owner creates, lists and revokes tokens of its own
// database that have no more rights than itself; a caller with the scope admin those of all databases.
var (
	Me = row[Nothing, MeAnswer](Op{Name: "me", Bound: Free, Node: true,
		Does: "The scopes and the database of this request's token.", Scope: Read, HTTP: "GET /v1/admin/me"})

	CreateToken = row[CreateTokenRequest, CreatedToken](Op{Name: "tokens_create",
		Does: "Create a token; its text is shown once.", Scope: Owner, Writes: true, HTTP: "POST /v1/admin/tokens"})
	Tokens = row[ReadRequest, TokenList](Op{Name: "tokens", Does: "All tokens, by the beginning of their hashes.",
		Scope: Owner, HTTP: "GET /v1/admin/tokens"})
	RevokeToken = row[RevokeTokenRequest, RevokedToken](Op{Name: "tokens_revoke",
		Does:  "Revoke a token, given as its text, its hash or the beginning of its hash.",
		Scope: Owner, Writes: true, HTTP: "POST /v1/admin/tokens/revoke", Confirm: "token"})
	LimitToken = row[LimitTokenRequest, LimitedToken](Op{Name: "tokens_limit",
		Does:  "Limit a token's requests on each node; 0 or omitted for no limit.",
		Scope: Owner, Writes: true, HTTP: "POST /v1/admin/tokens/limit"})
)

type MeAnswer struct {
	Database string       `json:"database" doc:"The database that the request is for."`
	ID       oplog.DB     `json:"database_id" doc:"Its number."`
	Scopes   []Scope      `json:"scopes" doc:"The token's scopes."`
	Spaces   oplog.Spaces `json:"namespaces,omitempty" doc:"Prefixes of the namespaces that the token is bound to; absent when it is not bound."`
	Trust    string       `json:"trust" doc:"The highest class of trust of what this request's caller writes: operator, agent, tool or web."`
	Holds    string       `json:"quarantine,omitempty" doc:"What it writes of this class, and of those below, waits in quarantine; absent: nothing does."`
	Master   bool         `json:"master" doc:"Whether it is the cluster secret."`
	NodeID   uint32       `json:"node_id" doc:"The node that answers."`
	Wire     string       `json:"wire" doc:"host:port of its wire port."`
	HTTP     string       `json:"http" doc:"host:port of its gateway."`
}

type CreateTokenRequest struct {
	Database   string     `json:"database" doc:"The database that the token is for. Default: the request's own."`
	DatabaseID uint32     `json:"database_id" doc:"The database by number; 0 to use the name."`
	Label      string     `json:"label" doc:"A label, to tell the token from others."`
	Scopes     []string   `json:"scopes" doc:"Its scopes: read, write, owner or admin, only those that the caller has. Default: read and write."`
	Expires    field.Date `json:"expires_at" doc:"When it ends. Default: never."`
	Spaces     []string   `json:"namespaces" doc:"Prefixes of namespaces, 16 at most, that the token is bound to: agents/billing binds it to that namespace and all below it. Requests without a namespace cover all of these, and new memories go to the first. Not with the scope admin. Default: not bound." example:"[\"agents/billing\"]"`
	Trust      string     `json:"trust" is:"string{operator,agent,tool,web}" doc:"The highest class of trust of what it writes: operator, agent, tool or web, at most the caller's own. Default: operator with the scope owner or admin, else agent."`
	Quarantine string     `json:"quarantine" is:"string{operator,agent,tool,web}" doc:"What it writes of this class, and of those below, waits in quarantine until an owner releases it. Default: as for the caller's own token."`
}

type CreatedToken struct {
	Token      string       `json:"token" doc:"The token's text. It is shown once: only its hash is stored."`
	Database   string       `json:"database" doc:"The database that the token is for."`
	DatabaseID oplog.DB     `json:"database_id" doc:"The same database by its number."`
	Label      string       `json:"label" doc:"Its purpose."`
	Spaces     oplog.Spaces `json:"namespaces,omitempty" doc:"The namespaces that it is bound to; absent when it is not bound."`
	Trust      string       `json:"trust" doc:"The highest class of trust of what it writes."`
	Quarantine string       `json:"quarantine,omitempty" doc:"What it writes of this class, and of those below, waits in quarantine; absent: nothing does."`
	Hash       string       `json:"hash_prefix" doc:"The beginning of its hash, which identifies it."`
	Replicated bool         `json:"replicated" doc:"true: the token is valid on every node."`
}

type TokenList struct {
	Tokens []Token `json:"tokens" doc:"Rows by creation, oldest first."`
}

// A Token describes a token. Times are Unix seconds.
type Token struct {
	HashPrefix string       `json:"hash_prefix" doc:"The beginning of its hash, which identifies it."`
	Database   string       `json:"database" doc:"The database that the token is for."`
	Label      string       `json:"label" doc:"Its purpose."`
	Scopes     []string     `json:"scopes" doc:"Its scopes; an empty list means read and write."`
	Spaces     oplog.Spaces `json:"namespaces,omitempty" doc:"The namespaces that it is bound to; absent when it is not bound."`
	Trust      string       `json:"trust" doc:"The highest class of trust of what it writes."`
	Quarantine string       `json:"quarantine,omitempty" doc:"What it writes of this class, and of those below, waits in quarantine; absent: nothing does."`
	Created    float64      `json:"created_at" is:"time" doc:"When it was made, in Unix seconds."`
	Expires    *float64     `json:"expires_at" is:"time" doc:"When it ends, in Unix seconds; null for never."`
	Revoked    *float64     `json:"revoked_at" is:"time" doc:"When it was revoked, in Unix seconds; null if it was not."`
	Used       *float64     `json:"last_used_at" is:"time" doc:"When it was last used, within a few minutes, in Unix seconds; null for never."`
	Bounds
}

type RevokeTokenRequest struct {
	Token string `json:"token" also:"hash" is:"string!" doc:"The token's text, its hash, or at least 8 digits of the beginning of its hash." example:"3f7a91c2"`
}

type RevokedToken struct {
	Revoked bool `json:"revoked" doc:"Whether such a token existed."`
}

type LimitTokenRequest struct {
	Token string `json:"token" also:"hash" is:"string!" doc:"The token's text, its hash, or at least 8 digits of the beginning of its hash." example:"3f7a91c2"`
	Bounds
}

type LimitedToken struct {
	Hash string `json:"hash_prefix" doc:"The beginning of its hash, which identifies it."`
	Bounds
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}
