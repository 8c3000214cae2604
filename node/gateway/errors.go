package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// errorsByKind maps the kinds of errors to their HTTP status and to the code for programs.
var errorsByKind = map[oplog.Kind]struct {
	status int
	code   string
}{
	oplog.Internal:       {http.StatusInternalServerError, "internal_error"},
	oplog.Invalid:        {http.StatusBadRequest, "invalid_request"},
	oplog.NotFound:       {http.StatusNotFound, "not_found"},
	oplog.Denied:         {http.StatusUnauthorized, "unauthenticated"},
	oplog.Conflict:       {http.StatusConflict, "conflict"},
	oplog.TooLarge:       {http.StatusRequestEntityTooLarge, "too_large"},
	oplog.Unavailable:    {http.StatusServiceUnavailable, "cluster_unavailable"},
	oplog.NotLeader:      {http.StatusServiceUnavailable, "not_leader"},
	oplog.UnknownOutcome: {http.StatusGatewayTimeout, "commit_timeout"},
	oplog.Corrupt:        {http.StatusInternalServerError, "internal_error"},
	oplog.TooOld:         {http.StatusConflict, "version_upgrade"},
	oplog.OverQuota:      {http.StatusTooManyRequests, "rate_limited"},
}

// codeStatuses holds the status of codes whose status differs from that of their kind.
var codeStatuses = map[string]int{"insufficient_scope": http.StatusForbidden, "forbidden": http.StatusForbidden,
	"namespace_denied": http.StatusForbidden, "trust_denied": http.StatusForbidden, "quarantined": http.StatusForbidden,
	"rate_limited": http.StatusTooManyRequests, "replica_behind": http.StatusPreconditionFailed}

// failure is the JSON of an error.
type failure struct {
	Error string `json:"error" doc:"A message for people."`
	Code  string `json:"code" doc:"A code for programs, the same in every version."`
}

// readOnly is the rejection of a write by a follower, with all field names that clients use.
type readOnly struct {
	failure
	Leader     *uint32 `json:"leader" doc:"The node that leads; null while none is known."`
	LeaderID   *uint32 `json:"leader_id" doc:"The same as leader."`
	LeaderNode *uint32 `json:"leader_node_id" doc:"The same as leader."`
	LeaderAddr *string `json:"leader_addr" doc:"The address of its gateway; null while it is not known."`
	RetryAfter int     `json:"retry_after_ms" doc:"Milliseconds to wait before a retry."`
}

// publicError returns the error that a client gets. An error without a kind is logged, and the client gets "internal
// error".
func (g *Gateway) publicError(err error) *oplog.Error {
	e, known := api.Classify(err)
	if !known {
		e = &oplog.Error{Kind: oplog.Internal, Text: "internal error", Err: err}
		g.cfg.Log.Error("request failed", "surface", "http", "err", err)
	}
	return e
}

// reject counts a rejection, returns its status and error, and sets Retry-After if a retry may succeed.
func (g *Gateway) reject(w http.ResponseWriter, err error) (status int, f failure, e *oplog.Error) {
	e = g.publicError(err)
	if slow, ok := errors.AsType[*access.Limited](err); ok {
		g.cfg.Metrics.Refused("rate limited")
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(slow.Wait.Seconds()))))
		return http.StatusTooManyRequests, failure{slow.Error(), "rate_limited"}, e
	}
	g.cfg.Metrics.Refused(e.Kind.String())
	status, f = errorsByKind[e.Kind].status, failure{e.Text, errorsByKind[e.Kind].code}
	if refused, ok := errors.AsType[*api.Refusal](err); ok {
		status, f.Code = cmp.Or(codeStatuses[refused.Code], status), cmp.Or(refused.Code, f.Code)
	}
	if errors.Is(e, errNotJSON) {
		status = http.StatusUnsupportedMediaType
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests && e.Kind != oplog.OverQuota {
		w.Header().Set("Retry-After", "1")
	}
	return status, f, e
}

// fail answers a rejected request. If another node leads and the address of its gateway is known, it redirects the
// client there.
func (g *Gateway) fail(w http.ResponseWriter, req *http.Request, err error) {
	status, f, e := g.reject(w, err)
	if refused, ok := errors.AsType[*api.Refusal](err); ok && refused.More != nil {
		all := map[string]any{"error": f.Error, "code": f.Code}
		maps.Copy(all, refused.More)
		writeJSON(w, status, all)
		return
	}
	if e.Kind != oplog.NotLeader && !errors.Is(e, api.ErrNoLeader) {
		writeJSON(w, status, f)
		return
	}
	r := readOnly{failure: failure{"read-only: no leader elected", "not_leader"}, RetryAfter: 1000}
	if e.Text != api.ErrNoLeader.Text && e.Kind != oplog.NotLeader {
		r.Error += ": " + e.Text // the reason why there is no leader
	}
	if l := g.cfg.Leader(); l.ID != nil {
		r.Error = fmt.Sprintf("read-only: not the leader (current leader: node %d)", *l.ID)
		r.Leader, r.LeaderID, r.LeaderNode = l.ID, l.ID, l.ID
		if l.HTTP != "" {
			r.LeaderAddr = &l.HTTP
			w.Header().Set("Location", l.HTTP+req.URL.RequestURI())
			status = http.StatusTemporaryRedirect
		}
	}
	writeJSON(w, status, r)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may have left
}
