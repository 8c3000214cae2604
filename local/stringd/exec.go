package stringd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/command"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/sse"
)

// exec is the hot path: one command in one topic, answered as three events.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) error {
	a, err := s.known(r)
	if err != nil {
		return err
	}
	b, err := s.body(w, r)
	if err != nil {
		return err
	}
	o, ok := s.object(b)
	if !ok {
		return refuse(http.StatusBadRequest, "Invalid JSON body — expected { \"cmd\": \"...\" }")
	}
	cmd, _ := text(o, "cmd")
	if cmd == "" {
		return refuse(http.StatusBadRequest, "Empty command — provide non-empty \"cmd\" field")
	}
	t, err := topicOf(o)
	if err != nil {
		return err
	}
	id, _ := text(o, "request_id")
	x, _, err := s.sessions.touch(a.ID, t)
	if err != nil {
		return err
	}
	switch err := x.acquire(r.Context(), s.cfg.QueueSize, s.cfg.QueueWait); {
	case errors.Is(err, errFull):
		return &refusal{http.StatusTooManyRequests,
			kit.Object{"error", "QUEUE_FULL", "message",
				fmt.Sprintf("Topic %s:%s has %d commands queued. Try again later.", a.ID, t.Name, s.cfg.QueueSize)}}
	case errors.Is(err, errWaited), errors.Is(err, errDropped):
		return &refusal{http.StatusGatewayTimeout, kit.Object{"error", "QUEUE_TIMEOUT", "message", "Timed out waiting in queue."}}
	case errors.Is(err, errGone):
		panic(http.ErrAbortHandler) // there is no client to answer
	}
	startStream(w)
	res := s.runAndRelease(x, a, cmd)
	label, meta := labelOf(cmd), x.run.Meta()
	if res.Code == lang.InternalError {
		meta = nil
	}
	out := event(nil, "head",
		kit.Object{"ok", res.OK(), "code", api.OrNil(string(res.Code)), "cmd", label, "request_id", api.OrNil(id), "agent_id", a.ID,
			"topic", t.Name, "topic_type", t.Type, "meta", meta})
	out = event(out, "content", "re: "+prefix(id)+label+"\n"+res.Body())
	out = event(out, "done", struct{}{})
	_, _ = w.Write(out) // a client that is gone needs no answer
	return nil
}

// startStream sends the headers of an event stream: the command is starting. put sends a piece, and fails when the
// client has not taken it after streamWrite. done is called at the end, for the connection may serve more requests.
func startStream(w http.ResponseWriter) (put func([]byte) error, done func()) {
	w.Header().Set("Connection", "keep-alive")
	sse.Start(w, "no-cache")
	rc := http.NewResponseController(w)
	_ = rc.Flush()                                            // fails when the client is gone
	until := func(t time.Time) { _ = rc.SetWriteDeadline(t) } // a closed connection fails at the write
	return func(piece []byte) error {
		until(time.Now().Add(streamWrite))
		return sse.Send(w, piece)
	}, func() { until(time.Time{}) }
}

// runAndRelease runs a command in a turn that was acquired, and gives the turn on. The command belongs to the topic,
// not to the connection: it runs to its end when the client goes.
func (s *Server) runAndRelease(x *session, a agent, cmd string) lang.Result {
	defer x.release()
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	return command.Run(ctx, x.run, a.Agent, cmd)
}

// event appends one server-sent event.
func event(dst []byte, name string, data any) []byte {
	return sse.Append(dst, "", name, kit.Must(data))
}

// maxLabel limits the part of a command that its answer repeats.
const maxLabel = 80

// labelOf is a command's first line, cut.
func labelOf(cmd string) string {
	first, _, _ := strings.Cut(cmd, "\n")
	return lang.Cut(strings.TrimRight(first, "\r"), maxLabel)
}

// prefix is a request's id in the first line of its content, which must stay one line.
func prefix(id string) string {
	if id == "" {
		return ""
	}
	return "[" + strings.NewReplacer("\r", " ", "\n", " ").Replace(id) + "] "
}
