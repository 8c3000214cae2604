package node

import (
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
)

func (g *gateway) health(w http.ResponseWriter, r *http.Request, _ Caller) error {
	status, code := "ok", http.StatusOK
	if _, ok := g.s.machine.leader(); !ok {
		status = "no leader" // reads go on: the node is alive
	}
	writeJSON(w, code, map[string]any{"status": status, "node_id": g.s.cfg.NodeID, "version": g.s.cfg.Version,
		"applied_index": g.s.machine.applied.get(), "writable": g.s.machine.leads()})
	return nil
}

func (g *gateway) cluster(w http.ResponseWriter, r *http.Request, _ Caller) error {
	writeJSON(w, http.StatusOK, g.s.Status(r.Context()))
	return nil
}

func (g *gateway) member(w http.ResponseWriter, r *http.Request, _ Caller) error {
	var req MemberChange
	if err := readJSON(r, &req); err != nil {
		return err
	}
	req.Verb = r.PathValue("verb")
	msg, err := g.s.ChangeMembers(r.Context(), req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "message": msg})
	return nil
}

type tokenRequest struct {
	Database string   `json:"database"`
	Label    string   `json:"label"`
	Scopes   []string `json:"scopes"`
	Expires  float64  `json:"expires_at"` // unix seconds; 0 for never
	Token    string   `json:"token"`
}

const hashPrefix = 12 // hex digits of a token's hash that are shown

func (g *gateway) createToken(w http.ResponseWriter, r *http.Request, c Caller) error {
	var req tokenRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	if req.Database == "" {
		req.Database = "default"
	}
	var expires time.Time
	if req.Expires > 0 {
		expires = time.UnixMicro(int64(req.Expires * 1e6))
	}
	text, err := g.s.CreateToken(r.Context(), c, req.Database, req.Label, req.Scopes, expires)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"token": text, "database": req.Database, "label": req.Label,
		"hash_prefix": HashToken(text)[:hashPrefix]})
	return nil
}

func (g *gateway) revokeToken(w http.ResponseWriter, r *http.Request, c Caller) error {
	var req tokenRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	done, err := g.s.RevokeToken(r.Context(), c, req.Token)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]bool{"revoked": done})
	return nil
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

func (g *gateway) listTokens(w http.ResponseWriter, r *http.Request, c Caller) error {
	tokens, err := g.s.Tokens(r.Context(), c)
	if err != nil {
		return err
	}
	names := map[oplog.DB]string{}
	dbs, err := g.s.Databases(r.Context(), c, Stale)
	if err != nil {
		return err
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
	writeJSON(w, http.StatusOK, map[string]any{"tokens": rows})
	return nil
}

func (g *gateway) dropDatabase(w http.ResponseWriter, r *http.Request, c Caller) error {
	name := r.PathValue("name")
	if err := g.s.DropDatabase(r.Context(), c, name); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]string{"dropped": name})
	return nil
}
