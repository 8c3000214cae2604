package memorystores

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// An API answers clients of memory stores. It implements gateway.Dialect.
type API struct{ door api.Door }

// New returns the API over a door.
func New(door api.Door) *API { return &API{door} }

// Name implements gateway.Dialect.
func (*API) Name() string { return "memory_stores" }

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
	"GET /v1/memory_stores":                  {api.ListKeys.Op, (*exchange).listStores},
	"POST /v1/memory_stores":                 {api.Put.Op, (*exchange).createStore},
	"GET /v1/memory_stores/{store}":          {api.GetKey.Op, (*exchange).getStore},
	"POST /v1/memory_stores/{store}":         {api.Put.Op, (*exchange).updateStore},
	"DELETE /v1/memory_stores/{store}":       {api.Delete.Op, (*exchange).deleteStore},
	"POST /v1/memory_stores/{store}/archive": {api.Put.Op, (*exchange).archiveStore},

	"GET /v1/memory_stores/{store}/memories":         {api.ListKeys.Op, (*exchange).listMemories},
	"POST /v1/memory_stores/{store}/memories":        {api.Put.Op, (*exchange).createMemory},
	"GET /v1/memory_stores/{store}/memories/{id}":    {api.Get.Op, (*exchange).getMemory},
	"POST /v1/memory_stores/{store}/memories/{id}":   {api.Put.Op, (*exchange).updateMemory},
	"DELETE /v1/memory_stores/{store}/memories/{id}": {api.Delete.Op, (*exchange).deleteMemory},

	"GET /v1/memory_stores/{store}/memory_versions":              {api.Revisions.Op, (*exchange).listVersions},
	"GET /v1/memory_stores/{store}/memory_versions/{id}":         {api.Revisions.Op, (*exchange).getVersion},
	"POST /v1/memory_stores/{store}/memory_versions/{id}/redact": {api.Erase.Op, (*exchange).redactVersion},
}

type object = map[string]any

// An exchange is one call.
type exchange struct{ api.Exchange }

// An apiError is an error that exists only in this API.
type apiError struct {
	status int
	kind   string
	text   string
	more   object
}

func (r *apiError) Error() string { return r.text }

// Serve answers a call at one of the paths.
func (a *API) Serve(r *http.Request, c api.Caller, decode func(to any) error) (status int, answer any, err error) {
	inner, err := api.NewExchange(a.door, r, c, decode)
	if err != nil {
		return 0, nil, err
	}
	answer, err = routes[r.Pattern].answer(&exchange{inner})
	if own, ok := errors.AsType[*apiError](err); ok {
		return own.status, failure(own.kind, own.text, own.more), nil
	}
	return http.StatusOK, answer, err
}

// errorTypes maps a status to the API's type of error. All others are invalid requests.
var errorTypes = map[int]string{
	http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
	http.StatusConflict: "conflict_error", http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:     "rate_limit_error",
	http.StatusInternalServerError: "api_error", http.StatusServiceUnavailable: "overloaded_error",
	http.StatusGatewayTimeout: "timeout_error",
}

// Reject implements gateway.Dialect.
func (*API) Reject(e *oplog.Error, status int, code string) (int, any) {
	kind, known := errorTypes[status]
	if !known {
		kind = "invalid_request_error"
	}
	return status, failure(kind, e.Text, object{"code": code})
}

func failure(kind, text string, more object) object {
	e := object{"type": kind, "message": text}
	maps.Copy(e, more)
	return object{"type": "error", "error": e}
}

// Bounds of pages.
const (
	pageSize        = 20
	maxPageSize     = 100
	maxFullPageSize = 20
	maxScanned      = 1000 // rows that are filtered for one page
)

// page reads the parameters limit and page. The page begins after the row after.
func (x *exchange) page(full bool) (limit int, after string, err error) {
	limit = pageSize
	if s := x.Params.Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 {
			return 0, "", oplog.Errorf(oplog.Invalid, "limit: want a number from 1, got %.20q", s)
		}
	}
	if limit = min(limit, maxPageSize); full {
		limit = min(limit, maxFullPageSize)
	}
	b, err := base64.RawURLEncoding.DecodeString(x.Params.Get("page"))
	if err != nil {
		return 0, "", oplog.Errorf(oplog.Invalid, "page: want the next_page of the page before")
	}
	return limit, string(b), nil
}

// pageAndView reads the parameters of a page, and whether it has full contents.
func (x *exchange) pageAndView() (full bool, limit int, after string, err error) {
	if full, err = x.fullView(false); err == nil {
		limit, after, err = x.page(full)
	}
	return full, limit, after, err
}

// pageOf returns a page in the API's format. next is the cursor of the next page, "" if there is none.
func pageOf(rows []object, next string) object {
	o := object{"data": append([]object{}, rows...), "next_page": nil}
	if next != "" {
		o["next_page"] = base64.RawURLEncoding.EncodeToString([]byte(next))
	}
	return o
}

// fullView reports whether the parameter view requests contents. byDefault is the default.
func (x *exchange) fullView(byDefault bool) (bool, error) {
	switch view := x.Params.Get("view"); view {
	case "":
		return byDefault, nil
	case "full", "basic":
		return view == "full", nil
	default:
		return false, oplog.Errorf(oplog.Invalid, "view: want basic or full, got %.20q", view)
	}
}

// createdRange reads created_at[gte] and created_at[lte], and returns a function that tests a time.
func (x *exchange) createdRange() (within func(seconds float64) bool, err error) {
	bounds := map[string]float64{}
	for _, name := range []string{"created_at[gte]", "created_at[lte]"} {
		if s := x.Params.Get(name); s != "" {
			at, err := time.Parse(time.RFC3339Nano, s)
			if err != nil {
				return nil, oplog.Errorf(oplog.Invalid, "%s: want a time in RFC 3339, got %.40q", name, s)
			}
			bounds[name] = float64(at.UnixMicro()) / 1e6
		}
	}
	return func(seconds float64) bool {
		from, first := bounds["created_at[gte]"]
		to, last := bounds["created_at[lte]"]
		return (!first || seconds >= from) && (!last || seconds <= to)
	}, nil
}
