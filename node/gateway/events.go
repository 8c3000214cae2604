package gateway

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/sse"
)

// maxStreams bounds the event streams of a node, shared among principals. Each takes a goroutine and buffers while it
// is open.
const maxStreams = 4096

// writeTimeout bounds how long a client may take to read a piece of a stream.
const writeTimeout = 30 * time.Second

// streamEvents sends the events of a subscription. A slow reader is served from the log; one that reads nothing for
// writeTimeout is disconnected. Writers never wait for readers.
func (g *Gateway) streamEvents(q *request, sub *api.Subscription) error {
	defer sub.Close()
	end, ok := g.streams.Try(q.c.Principal(), 1)
	if !ok {
		return oplog.Errorf(oplog.Unavailable, "%d event streams are open; retry later", g.streams.Used())
	}
	defer end()
	q.releaseSlot() // an open stream mostly waits
	out := newStream(q.w)
	if out.event("", "subscribed", sub.Begins) != nil {
		return nil // the client left
	}
	_ = sub.Follow(q.r.Context(), func(e api.Event) error { // it fails when the client leaves or its rights end
		if e.Name == "" {
			return out.beat()
		}
		id := ""
		if e.Index > 0 {
			id = strconv.FormatUint(uint64(e.Index), 10)
		}
		return out.event(id, e.Name, e.Data)
	})
	return nil
}

// cursor parses the log index where a subscriber left off; 0 for an empty text.
func cursor(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	i, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, &api.Refusal{Code: "invalid_cursor", Err: oplog.Errorf(oplog.Invalid, "Last-Event-ID and from: want an index of the log")}
	}
	return i, nil
}

// stream is an answer of server-sent events, each flushed at once.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	sse.Start(w, "no-store")
	return stream{w}
}

// event writes one event. It has an id only if a reader may resume there.
func (s stream) event(id, name string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return sse.Send(s.w, sse.Append(nil, id, name, b))
}

func (s stream) beat() error { return sse.Send(s.w, []byte(":\n\n")) }
