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

// statusError gives an error a status and a code of its own where the table's are too coarse.
type statusError struct {
	status int
	code   string
	err    error
	more   map[string]any // beside error and code
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// statuses maps what went wrong to HTTP.
var statuses = map[oplog.Kind]int{
	oplog.Internal:       http.StatusInternalServerError,
	oplog.Invalid:        http.StatusBadRequest,
	oplog.NotFound:       http.StatusNotFound,
	oplog.Denied:         http.StatusUnauthorized,
	oplog.Conflict:       http.StatusConflict,
	oplog.TooLarge:       http.StatusRequestEntityTooLarge,
	oplog.Unavailable:    http.StatusServiceUnavailable,
	oplog.NotLeader:      http.StatusServiceUnavailable,
	oplog.UnknownOutcome: http.StatusGatewayTimeout,
	oplog.Corrupt:        http.StatusInternalServerError,
	oplog.TooOld:         http.StatusConflict,
}

// kindCodes are the codes beside the messages, for those who branch on them.
var kindCodes = map[oplog.Kind]string{
	oplog.Internal: "internal_error", oplog.Invalid: "invalid_request", oplog.NotFound: "not_found", oplog.Denied: "unauthenticated",
	oplog.Conflict: "conflict", oplog.TooLarge: "too_large", oplog.Unavailable: "cluster_unavailable", oplog.NotLeader: "not_leader",
	oplog.UnknownOutcome: "commit_timeout", oplog.Corrupt: "internal_error", oplog.TooOld: "version_upgrade",
}

// codeStatuses are the codes of refusals whose status is not that of their kind.
var codeStatuses = map[string]int{"insufficient_scope": http.StatusForbidden, "forbidden": http.StatusForbidden, "rate_limited": http.StatusTooManyRequests, "replica_behind": http.StatusPreconditionFailed}

// failure is what a client reads of an error.
type failure struct {
	Error string `json:"error" doc:"What is wrong, for people."`
	Code  string `json:"code" doc:"What is wrong, for programs: a word that stays the same."`
}

// readOnly is the refusal of a node that does not lead, in every spelling that clients look for.
type readOnly struct {
	failure
	Leader     *uint32 `json:"leader" doc:"The node that leads; null while none is known."`
	LeaderID   *uint32 `json:"leader_id" doc:"The same as leader."`
	LeaderNode *uint32 `json:"leader_node_id" doc:"The same as leader."`
	LeaderAddr *string `json:"leader_addr" doc:"The address of its gateway; null while it is not known."`
	RetryAfter int     `json:"retry_after_ms" doc:"After how many milliseconds to try again."`
}

// said is what a client may know of an error: a cause that has no kind is logged, and stays inside.
func (g *Gateway) said(err error) *oplog.Error {
	e, known := api.Classify(err)
	if !known {
		e = &oplog.Error{Kind: oplog.Internal, Text: "internal error", Err: err}
		g.cfg.Log.Error("request failed", "surface", "http", "err", err)
	}
	return e
}

// fail answers a request that is refused. Where another node leads and its gateway is known, the client is sent there.
func (g *Gateway) fail(w http.ResponseWriter, req *http.Request, err error) {
	var slow *access.Limited
	if errors.As(err, &slow) {
		g.cfg.Metrics.Refused("rate limited")
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(slow.Wait.Seconds()))))
		writeJSON(w, http.StatusTooManyRequests, failure{slow.Error(), "rate_limited"})
		return
	}
	e := g.said(err)
	g.cfg.Metrics.Refused(e.Kind.String())
	f := failure{Error: e.Text, Code: kindCodes[e.Kind]}
	status := statuses[e.Kind]
	var se *statusError
	if errors.As(err, &se) {
		status, f.Code = se.status, se.code
	}
	var refused *api.Refusal
	if errors.As(err, &refused) {
		se = &statusError{status: cmp.Or(codeStatuses[refused.Code], status), code: refused.Code, more: refused.More}
		status, f.Code = se.status, se.code
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if se != nil && se.more != nil {
		all := map[string]any{"error": f.Error, "code": f.Code}
		maps.Copy(all, se.more)
		writeJSON(w, status, all)
		return
	}
	if e.Kind != oplog.NotLeader && !errors.Is(e, api.ErrNoLeader) {
		writeJSON(w, status, f)
		return
	}
	r := readOnly{failure: failure{"read-only: no leader elected", "not_leader"}, RetryAfter: 1000}
	if e.Text != api.ErrNoLeader.Text && e.Kind != oplog.NotLeader {
		r.Error += ": " + e.Text // why there is none
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
	_, _ = w.Write(append(b, '\n')) // a client that went away is no failure of ours
}

// named gives what was not found a code of its own.
func named(err error, code string) error {
	var has *api.Refusal
	if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) && !errors.As(err, &has) {
		return &api.Refusal{Code: code, Err: err}
	}
	return err
}
