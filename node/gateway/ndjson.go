package gateway

import (
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/cairndb/cairn/node/api"
)

const ndjsonType = "application/x-ndjson"

// sendExport writes an export, a JSON object a line. A reader that takes nothing for writeTimeout is cut off. What breaks off half way
// ends without the last chunk, so that no client takes it for the whole.
func sendExport(q *request, a *api.Exported) {
	q.w.Header().Set("Content-Type", ndjsonType)
	q.w.Header().Set("Cache-Control", "no-store")
	out := &ndjson{enc: json.NewEncoder(q.w), rc: http.NewResponseController(q.w)}
	writeLines(out, a.Memories)
	writeLines(out, a.Edges)
	if out.err != nil {
		panic(http.ErrAbortHandler) // the server's way to break a connection off
	}
}

// ndjson writes a JSON value a line, until the first error.
type ndjson struct {
	enc *json.Encoder
	rc  *http.ResponseController
	err error
}

func writeLines[T any](out *ndjson, pages iter.Seq2[[]T, error]) {
	if out.err != nil {
		return
	}
	for rows, err := range pages {
		if out.err = err; err == nil {
			out.err = out.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		for i := range rows {
			if out.err == nil {
				out.err = out.enc.Encode(&rows[i])
			}
		}
		if out.err != nil {
			return
		}
	}
}
