package kit

import (
	"net/http"
	"strings"
)

// StartEvents sends the headers of an event stream. Proxies that would hold events back know the last one.
func StartEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

const eventStream = "text/event-stream"

// AppendEvent adds one event, whose data is JSON: that has no newline, so one line is enough.
func AppendEvent(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, "\n\n"...)
}

// WantsEvents says whether a request's Accept names event streams themselves; patterns do not count.
func WantsEvents(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(media), eventStream) {
				return true
			}
		}
	}
	return false
}
