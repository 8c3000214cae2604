package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// preparers fill in what a request has outside its path, its parameters and its body.
var preparers = map[*api.Op]func(q *request, request any) error{
	api.Recall.Op: func(q *request, request any) error {
		request.(*api.RecallRequest).Bare = strings.Contains(q.r.Header.Get("Accept"), "text/event-stream")
		return nil
	},
	api.Import.Op: func(q *request, request any) error {
		request.(*api.ImportRequest).Lines = patient{q.r.Body, http.NewResponseController(q.w)}
		return nil
	},
	api.Events.Op: func(q *request, request any) error {
		from, err := cursor(cmp.Or(q.r.Header.Get("Last-Event-ID"), q.param("from")))
		request.(*api.EventsRequest).From = from
		return err
	},
	api.Log.Op: func(q *request, request any) error {
		request.(*api.LogRequest).Only = q.param("database")
		return nil
	},
}

// quirks are what clients of this protocol know of single answers that no other surface's do.
var quirks = map[*api.Op]func(q *request, answer any, err error) (any, error){
	api.Relate.Op: func(q *request, answer any, err error) (any, error) {
		if err == nil {
			q.w.Header().Set("Deprecation", "true")
			q.w.Header().Set("Link", `</v1/claim>; rel="successor-version"`)
		}
		return answer, err
	},
	api.Remember.Op: func(q *request, answer any, err error) (any, error) { // a key that was used for another memory is told with 200
		var refused *api.Refusal
		if !errors.Is(err, oplog.ErrKeyReused) || !errors.As(err, &refused) {
			return answer, err
		}
		rid, _ := refused.More["rid"].(string)
		return &api.Remembered{RID: rid, Stored: new(bool), Conflict: true}, nil
	},
	api.Recall.Op: func(q *request, answer any, err error) (any, error) {
		if r, ok := answer.(*api.Recalled); ok && err == nil && r.Pages != nil {
			return streamed{}, q.g.streamRecalled(q, r)
		}
		return answer, err
	},
	api.DeepHealth.Op: func(q *request, answer any, err error) (any, error) {
		if a, ok := answer.(*api.DeepHealthAnswer); ok && a.Status != "healthy" {
			return unavailable(q, a)
		}
		return answer, err
	},
	api.Ready.Op: func(q *request, answer any, err error) (any, error) {
		if a, ok := answer.(*api.ReadyAnswer); ok && !a.Ready {
			return unavailable(q, a)
		}
		return answer, err
	},
	api.Events.Op: func(q *request, answer any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		return streamed{}, q.g.streamEvents(q, answer.(*api.Subscription))
	},
	api.Import.Op: func(q *request, answer any, err error) (any, error) { // what was stored is stored, whether it is heard of or not
		rc := http.NewResponseController(q.w)
		_ = rc.SetReadDeadline(time.Time{}) // a connection that has none is a test's
		_ = rc.SetWriteDeadline(time.Now().Add(answerTimeout))
		return answer, err
	},
	api.FetchBackup.Op: func(q *request, answer any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		b := answer.(*api.BackupFile)
		defer b.File.Close()
		q.w.Header().Set("Content-Type", "application/octet-stream")
		q.w.Header().Set("ETag", `"`+b.SHA256+`"`)
		http.ServeContent(q.w, q.r, "", time.Time{}, b.File)
		return streamed{}, nil
	},
	api.Export.Op: func(q *request, answer any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		sendExport(q, answer.(*api.Exported))
		return streamed{}, nil
	},
	api.Log.Op: func(q *request, answer any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
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

// unavailable sends an answer with a status that load balancers act on.
func unavailable(q *request, answer any) (any, error) {
	writeJSON(q.w, http.StatusServiceUnavailable, answer)
	return streamed{}, nil
}

// streamRecalled sends rows as they are read: no client waits for the last row to see the first. A client that takes nothing for
// writeTimeout is cut off.
func (g *Gateway) streamRecalled(q *request, r *api.Recalled) error {
	out := newSSE(q.w)
	r.Total = 0
	for page, err := range r.Pages {
		if err != nil {
			e := g.said(err)
			_ = out.event("", "error", failure{e.Text, kindCodes[e.Kind]})
			return nil
		}
		for _, row := range page {
			if out.event("", "result", row) != nil {
				return nil // the client left
			}
			r.Total++
		}
	}
	_ = out.event("", "end", recallEnd{r.Total, r.Fallback, r.Confidence, r.Hints, r.Index, r.Lag, r.Considered, r.Below})
	return nil
}

// recallEnd is what a stream says of an answer as a whole.
type recallEnd struct {
	Total      int         `json:"total"`
	Fallback   *string     `json:"fallback"`
	Confidence float64     `json:"confidence"`
	Hints      []api.Hint  `json:"hints"`
	Index      oplog.Index `json:"index"`
	Lag        *float64    `json:"lag_seconds"`
	Considered int         `json:"considered"`
	Below      int         `json:"below_min_score"`
}
