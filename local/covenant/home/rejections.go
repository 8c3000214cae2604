package home

import (
	"fmt"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
)

// Clients without a token come as often as they like, and each rejection is a row on the disk: the first of a minute
// have one each, and the others of that minute one together.
const (
	rejectionRows   = 20
	rejectionWindow = time.Minute
)

// rejections counts those of the current window.
type rejections struct {
	mu        sync.Mutex
	rows      int         // of this window
	more      int         // rejections without a row
	transport string      // of the last of those
	end       *time.Timer // of the window; nil when none is open
}

// row reports whether one more rejection gets its own row. When the window ends, rest is called to write the row of
// the others.
func (r *rejections) row(transport string, rest func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == nil {
		r.end = time.AfterFunc(rejectionWindow, rest)
	}
	if r.rows < rejectionRows {
		r.rows++
		return true
	}
	r.more++
	r.transport = transport
	return false
}

// failed takes back a row that could not be written.
func (r *rejections) failed() {
	r.mu.Lock()
	r.rows = max(0, r.rows-1)
	r.mu.Unlock()
}

// drain ends the window and gives the number of its rejections without a row.
func (r *rejections) drain() (more int, transport string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil {
		r.end.Stop()
	}
	more, transport = r.more, r.transport
	r.rows, r.more, r.end = 0, 0, nil
	return more, transport
}

// FailAuthentication records a failed authentication and gives the frame that answers it.
func (h *Home) FailAuthentication(transport, reason string) (any, error) {
	if err := h.known(h.Ctx); err != nil {
		return nil, err
	}
	if h.rejections.row(transport, h.recordRejections) {
		if err := h.recordFailure(transport, reason); err != nil {
			h.rejections.failed()
			return nil, err
		}
	}
	return kit.Object{"kind", "authentication_failed", "reason", reason}, nil
}

func (h *Home) recordFailure(transport, reason string) error {
	return h.Record(h.Operator, kit.Object{"type", "authentication_failed", "transport", transport, "reason", reason})
}

// recordRejections writes the row for those that had none of their own.
func (h *Home) recordRejections() {
	if more, transport := h.rejections.drain(); more > 0 {
		h.Log.Warn("many clients were refused", "count", more)
		_ = h.recordFailure(transport, fmt.Sprintf("%d more of the same minute", more)) // record logs its failure
	}
}
