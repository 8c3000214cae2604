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

// exec runs one command in one topic and answers with three events.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) error {
	a, err := s.requestAgent(r)
	if err != nil {
		return err
	}
	b, err := s.body(w, r)
	if err != nil {
		return err
	}
	o, ok := s.parseObject(b)
	if !ok {
		return httpErrorf(http.StatusBadRequest, "Invalid JSON body — expected { \"cmd\": \"...\" }")
	}
	cmd, _ := textField(o, "cmd")
	if cmd == "" {
		return httpErrorf(http.StatusBadRequest, "Empty command — provide non-empty \"cmd\" field")
	}
	t, err := topicOf(o)
	if err != nil {
		return err
	}
	id, _ := textField(o, "request_id")
	x, _, err := s.sessions.getOrCreate(a.ID, t)
	if err != nil {
		return err
	}
	switch err := x.acquire(r.Context(), s.cfg.QueueSize, s.cfg.QueueWait); {
	case errors.Is(err, errQueueFull):
		return &httpError{http.StatusTooManyRequests,
			kit.Object{"error", "QUEUE_FULL", "message",
				fmt.Sprintf("Topic %s:%s has %d commands queued. Try again later.", a.ID, t.Name, s.cfg.QueueSize)}}
	case errors.Is(err, errQueueTimeout), errors.Is(err, errSessionClosed):
		return &httpError{http.StatusGatewayTimeout, kit.Object{"error", "QUEUE_TIMEOUT", "message", "Timed out waiting in queue."}}
	case errors.Is(err, errClientGone):
		panic(http.ErrAbortHandler) // the client is gone, so there is nobody to answer
	}
	if a, err = s.agentNow(x); err != nil {
		return err
	}
	startStream(w)
	res := s.runAndRelease(x, a, cmd)
	label, meta := labelOf(cmd), x.state.Meta()
	if res.Code == lang.InternalError {
		meta = nil
	}
	out := event(nil, "head",
		kit.Object{"ok", res.OK(), "code", api.OrNil(string(res.Code)), "cmd", label, "request_id", api.OrNil(id), "agent_id", a.ID,
			"topic", t.Name, "topic_type", t.Type, "meta", meta})
	out = event(out, "content", "re: "+requestPrefix(id)+label+"\n"+res.Body())
	out = event(out, "done", struct{}{})
	_, _ = w.Write(out) // a client that is gone needs no answer
	return nil
}

// agentNow returns the agent of a session whose turn the caller has, as it is registered now: it may have been changed
// or removed while the request was read or waited. If it was removed, the turn and the session end.
func (s *Server) agentNow(x *session) (agent, error) {
	a, ok := s.agents.get(x.id.agent)
	if !ok {
		x.release()
		s.sessions.remove(func(y *session) bool { return y == x })
		return a, httpErrorf(http.StatusUnauthorized, "Unknown agent: %s", x.id.agent)
	}
	return a, nil
}

// startStream sends the headers of an event stream. put sends a piece, and fails if the client has not received it
// within streamWriteTimeout. The caller calls done at the end, because the connection may serve more requests.
func startStream(w http.ResponseWriter) (put func([]byte) error, done func()) {
	w.Header().Set("Connection", "keep-alive")
	sse.Start(w, "no-cache")
	rc := http.NewResponseController(w)
	_ = rc.Flush()                                            // fails when the client is gone
	until := func(t time.Time) { _ = rc.SetWriteDeadline(t) } // a closed connection fails at the write
	return func(piece []byte) error {
		until(time.Now().Add(streamWriteTimeout))
		return sse.Send(w, piece)
	}, func() { until(time.Time{}) }
}

// runAndRelease runs a command and releases the turn. The command continues if the client disconnects.
func (s *Server) runAndRelease(x *session, a agent, cmd string) lang.Result {
	defer x.release()
	ctx, cancel := context.WithCancel(s.Ctx)
	defer cancel()
	return command.Run(ctx, x.state, a.Agent, cmd)
}

// event appends one server-sent event.
func event(dst []byte, name string, data any) []byte {
	return sse.Append(dst, "", name, kit.MustJSON(data))
}

// maxLabel bounds the part of a command that its answer repeats.
const maxLabel = 80

// labelOf returns the first line of a command, cut to maxLabel.
func labelOf(cmd string) string {
	first, _, _ := strings.Cut(cmd, "\n")
	return lang.Truncate(strings.TrimRight(first, "\r"), maxLabel)
}

// requestPrefix returns the id of a request for the first line of its content, without line breaks.
func requestPrefix(id string) string {
	if id == "" {
		return ""
	}
	return "[" + strings.NewReplacer("\r", " ", "\n", " ").Replace(id) + "] "
}
