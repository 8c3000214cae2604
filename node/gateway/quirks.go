package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// preparers set the fields of a request that are in no path, parameter or body.
var preparers = map[*api.Op]func(q *request, request any) error{
	api.Recall.Op: func(q *request, request any) error {
		request.(*api.RecallRequest).Bare = strings.Contains(q.r.Header.Get("Accept"), "text/event-stream")
		return nil
	},
	api.Import.Op: func(q *request, request any) error {
		request.(*api.ImportRequest).Lines = q.r.Body
		return nil
	},
	api.Events.Op: func(q *request, request any) error {
		from, err := cursor(cmp.Or(q.r.Header.Get("Last-Event-ID"), q.param("from")))
		request.(*api.EventsRequest).From = field.Token(from)
		return err
	},
	api.Log.Op: func(q *request, request any) error {
		request.(*api.LogRequest).Only = q.param("database")
		return nil
	},
	api.Memories.Op: func(q *request, request any) error { // even an empty parameter requests records
		request.(*api.MemoriesRequest).Walks = slices.ContainsFunc([]string{"kind", "drive_id", "since_rid", "order"}, q.r.URL.Query().Has)
		return nil
	},
}

// anonymousOps maps an operation to the one that answers callers without a token.
var anonymousOps = map[*api.Op]*api.Op{api.Cluster.Op: api.Up.Op}

// quirks maps an operation to the HTTP-specific handling of its answer: a header, a status or a stream.
var quirks = map[*api.Op]func(q *request, answer any) (any, error){
	api.Relate.Op: func(q *request, answer any) (any, error) {
		q.w.Header().Set("Deprecation", "true")
		q.w.Header().Set("Link", `</v1/claim>; rel="successor-version"`)
		return answer, nil
	},
	api.Recall.Op: func(q *request, answer any) (any, error) {
		if r := answer.(*api.Recalled); r.Pages != nil {
			return streamed{}, q.g.streamRecalled(q, r)
		}
		return answer, nil
	},
	api.DeepHealth.Op: func(q *request, answer any) (any, error) {
		return withReadinessStatus(q, answer, answer.(*api.DeepHealthAnswer).Status == "healthy")
	},
	api.Ready.Op: func(q *request, answer any) (any, error) {
		return withReadinessStatus(q, answer, answer.(*api.ReadyAnswer).Ready)
	},
	api.Events.Op: func(q *request, answer any) (any, error) {
		return streamed{}, q.g.streamEvents(q, answer.(*api.Subscription))
	},
	api.FetchBackup.Op: func(q *request, answer any) (any, error) {
		b := answer.(*api.BackupFile)
		defer b.File.Close()
		q.w.Header().Set("Content-Type", "application/octet-stream")
		q.w.Header().Set("ETag", `"`+b.SHA256+`"`)
		http.ServeContent(q.w, q.r, "", time.Time{}, b.File)
		return streamed{}, nil
	},
	api.Export.Op: func(q *request, answer any) (any, error) {
		sendExport(q, answer.(*api.Exported))
		return streamed{}, nil
	},
	api.Log.Op: func(q *request, answer any) (any, error) {
		q.w.Header().Set("Content-Type", ndjsonType)
		out := json.NewEncoder(q.w)
		for _, line := range answer.(*api.LogAnswer).Lines {
			if out.Encode(line) != nil {
				break // the client left
			}
		}
		return streamed{}, nil
	},
}

// withReadinessStatus sends an answer. A node that cannot serve answers 503, on which load balancers act.
func withReadinessStatus(q *request, answer any, serves bool) (any, error) {
	if serves {
		return answer, nil
	}
	writeJSON(q.w, http.StatusServiceUnavailable, answer)
	return streamed{}, nil
}

// streamRecalled sends each row as soon as it is read, so a client sees the first before the last is read. A client
// that reads nothing for writeTimeout is disconnected.
func (g *Gateway) streamRecalled(q *request, r *api.Recalled) error {
	out := newStream(q.w)
	r.Total = 0
	for page, err := range r.Pages {
		if err != nil {
			_, f, _ := g.reject(q.w, err)
			_ = out.event("", "error", f)
			return nil
		}
		for _, row := range page {
			if out.event("", "result", row) != nil {
				return nil // the client left
			}
			r.Total++
		}
	}
	_ = out.event("", "end", recallEnd{Recalled: r})
	return nil
}

// recallEnd is the last event of a streamed recall: the answer without its rows, which were sent.
type recallEnd struct {
	*api.Recalled
	Rows []api.Result `json:"results,omitempty"` // none: it takes the place of the answer's
}
