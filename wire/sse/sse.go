// Package sse writes server-sent events: a stream of named events with JSON data. The caller sets deadlines and ends
// the stream.
package sse

import (
	"net/http"
	"strings"
)

const mediaType = "text/event-stream"

// Start sends the headers of an event stream. cache is the value of its Cache-Control. X-Accel-Buffering tells
// proxies to pass events on at once.
func Start(w http.ResponseWriter, cache string) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", cache)
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// Append appends an event. data is JSON on one line. id is the position to resume from; blank if a reader cannot
// resume from this event.
func Append(dst []byte, id, name string, data []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, "\n\n"...)
}

// Send writes a piece of a stream and flushes it.
func Send(w http.ResponseWriter, piece []byte) error {
	if _, err := w.Write(piece); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// Wanted reports whether a request's Accept header names event streams explicitly; wildcards do not count.
func Wanted(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(media), mediaType) {
				return true
			}
		}
	}
	return false
}
