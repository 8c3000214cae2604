package node

import "github.com/cairndb/cairn/node/api"

// quirks are what clients of this protocol know of single answers that no other surface's do.
var quirks = map[*api.Op]func(q *request, answer any, err error) (any, error){
	api.Relate.Op: func(q *request, answer any, err error) (any, error) {
		if err == nil {
			q.w.Header().Set("Deprecation", "true")
			q.w.Header().Set("Link", `</v1/claim>; rel="successor-version"`)
		}
		return answer, err
	},
}
