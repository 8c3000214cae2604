package gateway

import (
	"encoding/json"
	"iter"
	"net/http"

	"github.com/cairndb/cairn/node/api"
)

const ndjsonType = "application/x-ndjson"

// sendExport writes an export, a JSON object a line. A reader that takes nothing for writeTimeout is cut off. What
// breaks off half way ends without the last chunk, so that no client takes it for the whole.
func sendExport(q *request, a *api.Exported) {
	q.w.Header().Set("Content-Type", ndjsonType)
	q.w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(q.w)
	out.SetEscapeHTML(false) // metadata leaves with the bytes that it came with
	if writeLines(out, a.Memories) != nil || writeLines(out, a.Edges) != nil {
		panic(http.ErrAbortHandler) // the server's way to break a connection off
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
