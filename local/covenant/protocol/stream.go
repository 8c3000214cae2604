package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/cairndb/cairn/local/kit"
)

var errChunk = fmt.Errorf("chunk exceeds %d-byte frame limit", MaxFrame)

// Stream is an answer in several frames, which are encoded while they are sent.
type Stream struct {
	Kind    string                                            // of the plain answer that it replaces
	Chunks  func(emit func(any) (more bool, err error)) error // calls emit with each chunk
	Summary kit.Object                                        // nil for none
}

// List is an answer of items in one frame.
type List struct {
	Kind, Name string
	Items      []any
}

// MarshalJSON implements json.Marshaler.
func (l List) MarshalJSON() ([]byte, error) {
	return kit.JSON(kit.Object{"kind", l.Kind, l.Name, l.Items})
}

// StreamOrList returns the stream if streams is set, and otherwise a list of its chunks.
func StreamOrList(st *Stream, name string, streams bool) (any, error) {
	if streams {
		return st, nil
	}
	out, size := []any{}, 0
	err := st.Chunks(func(chunk any) (bool, error) {
		switch c := chunk.(type) {
		case interface{ Weight() int }:
			size += c.Weight()
		case json.RawMessage:
			size += len(c)
		}
		if out = append(out, chunk); size > 2*MaxFrame { // the list cannot fit a frame any more
			return false, ErrTooLong
		}
		return true, nil
	})
	return List{st.Kind, name, out}, err
}

// Each calls put with each frame of the stream, until put returns false because the client is gone. It calls
// authorize before each chunk; if the client is no longer authorized, the stream ends with that error. A chunk that
// is too large also ends the stream with an error. Each returns false when the connection is lost.
func (st *Stream) Each(authorize func() error, put func(kind string, frame []byte) bool) bool {
	id, alive := NewID(), true
	send := func(kind string, members ...any) error {
		b, err := kit.JSON(append(kit.Object{"kind", kind, "stream_id", id}, members...))
		if err == nil && len(b) > MaxFrame {
			err = errChunk
		}
		if err == nil {
			alive = put(kind, b)
		}
		return err
	}
	if err := send("stream_begin", "response_kind", st.Kind); err != nil || !alive {
		return false
	}
	var seq uint64
	err := st.Chunks(func(chunk any) (bool, error) {
		if err := authorize(); err != nil {
			return false, err
		}
		err := send("stream_chunk", "sequence", seq, "chunk", chunk)
		seq++
		return alive, err
	})
	switch {
	case !alive:
	case err != nil:
		err = send("stream_error", "message", err.Error())
	case st.Summary != nil:
		err = send("stream_end", "summary", st.Summary)
	default:
		err = send("stream_end")
	}
	return alive && err == nil
}

// MaxFrame bounds the JSON of a frame, in both directions.
const MaxFrame = 8 << 20

// ErrTooLong replaces an answer that is too large for a frame.
var ErrTooLong = fmt.Errorf("response exceeds %d-byte frame limit; lower limit or set prefer_stream", MaxFrame)

// ErrorFrame returns the answer to a failed request.
func ErrorFrame(message string) kit.Object { return kit.Object{"kind", "error", "message", message} }

// InvalidToken is the error for an invalid token.
const InvalidToken = "unknown or revoked token"
