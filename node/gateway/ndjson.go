package gateway

import (
	"encoding/json"
	"iter"
	"net/http"

	"github.com/cairndb/cairn/node/api"
)

const ndjsonType = "application/x-ndjson"

// sendExport writes an export as NDJSON. A client that reads nothing for writeTimeout is disconnected. An incomplete
// answer lacks its last chunk, so clients notice.
func sendExport(q *request, a *api.Exported) {
	q.w.Header().Set("Content-Type", ndjsonType)
	q.w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(q.w)
	out.SetEscapeHTML(false) // metadata keeps its exact bytes
	if writeLines(out, a.Memories) != nil || writeLines(out, a.Edges) != nil {
		panic(http.ErrAbortHandler) // aborts the connection
	}
}

func writeLines[T any](out *json.Encoder, pages iter.Seq2[[]T, error]) error {
	for rows, err := range pages {
		if err != nil {
			return err
		}
		for i := range rows {
			if err := out.Encode(&rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
