package home

import (
	"fmt"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
)

// Clients without a token can connect any number of times, and each audit row takes disk space. So only the first
// failed authentications of a minute get their own rows. All others of the minute share one row.
const (
	rejectionRows   = 20
	rejectionWindow = time.Minute
)

// rejections counts the failed authentications of the current window.
type rejections struct {
	mu         sync.Mutex
	rows       int         // rows written in this window
	unrecorded int         // rejections without a row
	transport  string      // of the last one without a row
	end        *time.Timer // ends the window; nil if no window is open
}

// reserveRow reports whether a rejection gets its own row. The first rejection opens a window. At its end, recordRest
// writes the row of the others.
func (r *rejections) reserveRow(transport string, recordRest func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.end = time.AfterFunc(rejectionWindow, recordRest)
	}
	if r.rows < rejectionRows {
		r.rows++
		return true
	}
	r.unrecorded++
	r.transport = transport
	return false
}

// unreserveRow undoes reserveRow for a row that could not be written.
func (r *rejections) unreserveRow() {
	r.mu.Lock()
	r.rows = max(0, r.rows-1)
	r.mu.Unlock()
}

// drain ends the window and returns the number of rejections without a row.
func (r *rejections) drain() (more int, transport string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end.Stop()
	}
	more, transport = r.unrecorded, r.transport
	r.rows, r.unrecorded, r.end = 0, 0, nil
	return more, transport
}

// FailAuthentication records a failed authentication and returns the frame that answers it.
func (h *Home) FailAuthentication(transport, reason string) (any, error) {
	if err := h.awaitOperator(h.Ctx); err != nil {
		return nil, err
	}
	if h.rejections.reserveRow(transport, h.recordRejections) {
		if err := h.recordFailure(transport, reason); err != nil {
			h.rejections.unreserveRow()
			return nil, err
		}
	}
	return kit.Object{"kind", "authentication_failed", "reason", reason}, nil
}

func (h *Home) recordFailure(transport, reason string) error {
	return h.Record(h.Operator, kit.Object{"type", "authentication_failed", "transport", transport, "reason", reason})
}

// recordRejections writes one row for all rejections without their own.
func (h *Home) recordRejections() {
	if more, transport := h.rejections.drain(); more > 0 {
		h.Log.Warn("many clients were refused", "count", more)
		_ = h.recordFailure(transport, fmt.Sprintf("%d more of the same minute", more)) // Record logs its own errors
	}
}
