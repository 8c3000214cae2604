package mem0

import (
	"cmp"
	"net/http"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// An API answers mem0's clients. It implements gateway.Dialect.
type API struct{ door api.Door }

// New returns the API over a door.
func New(door api.Door) *API { return &API{door} }

// Name implements gateway.Dialect.
func (*API) Name() string { return "mem0" }

// Routes implements gateway.Dialect.
func (*API) Routes() map[string]*api.Op {
	return api.Rights(routes, func(r route) *api.Op { return r.right })
}

// A route is the operation whose right a caller needs before the body is read, and the handler.
type route struct {
	right  *api.Op
	answer func(*exchange) (any, error)
}

// routes maps the patterns of the API to their routes.
var routes = map[string]route{
	"GET /v1/ping/{$}": {api.Me.Op, (*exchange).ping},

	"POST /v3/memories/add/{$}":    {api.RememberBatch.Op, add(platform)},
	"POST /v3/memories/{$}":        {api.Recall.Op, list(platform)},
	"POST /v3/memories/search/{$}": {api.Recall.Op, search(platform)},
	"POST /v2/memories/{$}":        {api.Recall.Op, list(legacy)},
	"POST /v2/memories/search/{$}": {api.Recall.Op, search(legacy)},
	"POST /v1/memories/{$}":        {api.RememberBatch.Op, add(legacy)},
	"GET /v1/memories/{$}":         {api.Recall.Op, list(legacy)},
	"POST /v1/memories/search/{$}": {api.Recall.Op, search(legacy)},
	"DELETE /v1/memories/{$}":      {api.ForgetMatching.Op, (*exchange).removeAll},

	"GET /v1/memories/{id}/{$}":         {api.Get.Op, (*exchange).get},
	"PUT /v1/memories/{id}/{$}":         {api.Correct.Op, update(platform)},
	"DELETE /v1/memories/{id}/{$}":      {api.Forget.Op, (*exchange).remove},
	"GET /v1/memories/{id}/history/{$}": {api.Revisions.Op, (*exchange).history},
	"PUT /v1/batch/{$}":                 {api.Correct.Op, (*exchange).updateMany},
	"DELETE /v1/batch/{$}":              {api.ForgetMany.Op, (*exchange).removeMany},

	"GET /v1/entities/{$}":                  {api.Values.Op, entities(platform)},
	"DELETE /v1/entities/{type}/{name}/{$}": {api.ForgetMatching.Op, (*exchange).removeEntity},
	"DELETE /v2/entities/{type}/{name}/{$}": {api.ForgetMatching.Op, (*exchange).removeEntity},
	"GET /v1/events/{$}":                    {api.Recall.Op, (*exchange).events},
	"GET /v1/event/{id}/{$}":                {api.Get.Op, (*exchange).event},

	"GET /api/v1/orgs/organizations/{org}/projects/{project}/{$}":   {api.Me.Op, (*exchange).project},
	"PATCH /api/v1/orgs/organizations/{org}/projects/{project}/{$}": {api.Correct.Op, notImplemented(noModel)},
	"GET /api/v1/webhooks/projects/{project}/{$}":                   {api.Me.Op, func(*exchange) (any, error) { return []any{}, nil }},
	"POST /api/v1/webhooks/projects/{project}/{$}":                  {api.Correct.Op, notImplemented(noHooks)},
	"PUT /api/v1/webhooks/{id}/{$}":                                 {api.Correct.Op, notImplemented(noHooks)},
	"DELETE /api/v1/webhooks/{id}/{$}":                              {api.Correct.Op, notImplemented(noHooks)},
	"POST /v1/feedback/{$}": {api.Feedback.Op,
		notImplemented("feedback is about a question here: POST /v1/feedback, without the last slash, with the question and the memory")},
	"POST /v1/exports/{$}":                     {api.Export.Op, notImplemented(noExports)},
	"POST /v1/exports/get/{$}":                 {api.Export.Op, notImplemented(noExports)},
	"GET /v2/entities/user/{name}/profile/{$}": {api.Me.Op, (*exchange).profile},
	"POST /v2/profiles/jobs/{$}":               {api.Correct.Op, notImplemented(noModel)},
	"GET /v2/profiles/jobs/{id}/{$}":           {api.Me.Op, notImplemented(noModel)},
	"GET /v2/profiles/settings/{$}": {api.Me.Op,
		func(*exchange) (any, error) { return object{"enabled": false, "entities": object{}}, nil }},
	"POST /v2/profiles/settings/{$}": {api.Correct.Op, notImplemented(noModel)},

	"POST /memories":                 {api.RememberBatch.Op, add(selfHosted)},
	"GET /memories":                  {api.Recall.Op, list(selfHosted)},
	"DELETE /memories":               {api.ForgetMatching.Op, (*exchange).removeAll},
	"GET /memories/{id}":             {api.Get.Op, (*exchange).get},
	"PUT /memories/{id}":             {api.Correct.Op, update(selfHosted)},
	"DELETE /memories/{id}":          {api.Forget.Op, (*exchange).remove},
	"GET /memories/{id}/history":     {api.Revisions.Op, (*exchange).history},
	"POST /search":                   {api.Recall.Op, search(selfHosted)},
	"GET /entities":                  {api.Values.Op, entities(selfHosted)},
	"DELETE /entities/{type}/{name}": {api.ForgetMatching.Op, (*exchange).removeEntity},
	"POST /reset":                    {api.Purge.Op, (*exchange).reset},
	"GET /configure":                 {api.Me.Op, (*exchange).project},
	"POST /configure":                {api.Correct.Op, notImplemented(noModel)},
	"POST /generate-instructions":    {api.Correct.Op, notImplemented(noModel)},
	"GET /api/health":                {api.Alive.Op, func(*exchange) (any, error) { return object{"status": "ok"}, nil }},
}

// A shape is the answer format that a kind of client expects.
type shape int

const (
	platform   shape = iota // the platform's newest paths
	legacy                  // the platform's older paths, which answer plain lists
	selfHosted              // the self-hosted server
)

// The reasons for calls that Cairn does not implement.
const (
	noModel   = "Cairn stores text as it is given: no instructions, categories or profiles are made of it, so there is nothing to set"
	noHooks   = "Cairn calls no webhooks: GET /v1/events, without the last slash, is an event stream of all changes"
	noExports = "Cairn fills no schema with a model: list memories with POST /v3/memories/, or run cairn export"
)

// unsupported is the answer of a call that is not implemented: the reason.
type unsupported string

func notImplemented(why unsupported) func(*exchange) (any, error) {
	return func(*exchange) (any, error) { return why, nil }
}

type object = map[string]any

// An exchange is one call.
type exchange struct{ api.Exchange }

// Serve answers a call at one of the paths.
func (a *API) Serve(r *http.Request, c api.Caller, decode func(to any) error) (status int, answer any, err error) {
	inner, err := api.NewExchange(a.door, r, c, decode)
	if err != nil {
		return 0, nil, err
	}
	answer, err = routes[r.Pattern].answer(&exchange{inner})
	if why, lacking := answer.(unsupported); lacking {
		status, answer := a.Reject(oplog.Errorf(oplog.Invalid, "%s", string(why)), http.StatusNotImplemented, "not_implemented")
		return status, answer, err
	}
	return http.StatusOK, answer, err
}

// Reject implements gateway.Dialect. It maps a full database to mem0's status for quotas.
func (*API) Reject(e *oplog.Error, status int, code string) (int, any) {
	if e.Kind == oplog.OverQuota {
		status = http.StatusRequestEntityTooLarge
	}
	return status, object{"detail": e.Text, "error": e.Text, "code": code}
}

// organization is the name of the only organization.
const organization = "cairn"

func (x *exchange) ping() (any, error) {
	return object{"status": "ok", "org_id": organization, "project_id": x.C.Database, "user_email": cmp.Or(x.C.Label, x.C.Who())}, nil
}

// project returns the database as a project, with the fields that the call requests.
func (x *exchange) project() (any, error) {
	if org, project := x.R.PathValue("org"), x.R.PathValue("project"); org != "" && (org != organization || project != x.C.Database) {
		return nil, oplog.Errorf(oplog.NotFound, "this token's project is %s of the organization %s", x.C.Database, organization)
	}
	all := object{"id": x.C.Database, "name": x.C.Database, "org_id": organization, "custom_instructions": nil,
		"custom_categories": []any{}, "decay": false}
	return selectFields(all, x.Params["fields"]), nil
}

func (x *exchange) profile() (any, error) {
	return object{"profile": object{}, "status": "not_enabled", "entity_type": "user", "entity_id": x.R.PathValue("name"),
		"updated_at": nil, "generation_count": 0}, nil
}
