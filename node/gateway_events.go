package node

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

var eventRoutes = []route{
	{name: "events", method: "GET", path: "/v1/events", scope: api.Read, handle: direct((*gateway).events), summary: "What happens, as an event stream; Last-Event-ID or from resumes behind a log index",
		query: "from:integer[0..] type:string", media: "text/event-stream"},
}

// maxStreams bounds the event streams of a node: each costs a goroutine and its buffers for as long as it lives.
const maxStreams = 4096

// events is the feed of a database as an event stream. A reader that is slow is fed from the log; one that takes
// nothing for writeTimeout is cut off. Writers wait for neither.
func (g *gateway) events(w http.ResponseWriter, r *http.Request, c api.Caller) error {
	cursor, err := cursorOf(r)
	if err != nil {
		return err
	}
	if g.streams.Add(1) > maxStreams {
		g.streams.Add(-1)
		return oplog.Errorf(oplog.Unavailable, "%d event streams are open; retry later", maxStreams)
	}
	defer g.streams.Add(-1)
	g.busy.Add(-1) // it waits, and works on nothing
	defer g.busy.Add(1)
	out := newSSE(w)
	p := g.s.pusher(c.DB, r.URL.Query()["type"], func(name string, at oplog.Index, data []byte) error {
		id := ""
		if at > 0 {
			id = strconv.FormatUint(uint64(at), 10)
		}
		return out.event(id, name, json.RawMessage(data))
	})
	defer p.close()
	p.beat = out.beat
	p.admit = func() error {
		_, err := g.authenticate(r)
		return err
	}
	if err := p.emit("subscribed", 0, g.s.position()); err != nil {
		return nil // the client left
	}
	_ = p.run(r.Context(), cursor) // an error is the client's going away, or its token's end
	return nil
}

// cursorOf is where a subscriber left off.
func cursorOf(r *http.Request) (oplog.Index, error) {
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		s = r.URL.Query().Get("from")
	}
	if s == "" {
		return 0, nil
	}
	i, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, &statusError{status: http.StatusBadRequest, code: "invalid_cursor", err: oplog.Errorf(oplog.Invalid, "Last-Event-ID or from: an index of the log")}
	}
	return oplog.Index(i), nil
}

// sse is an answer that is written piece by piece; each piece has writeTimeout to leave.
type sse struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newSSE(w http.ResponseWriter) *sse {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies that would hold events back know this
	return &sse{w, http.NewResponseController(w)}
}

// event writes one event; it has an id only where a reader may resume.
func (s *sse) event(id, name string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	return s.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, name, b))
}

func (s *sse) beat() error { return s.write(":\n\n") }

func (s *sse) write(text string) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.rc.Flush()
}
