package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/cairndb/cairn/local/kit"
)

var errChunk = fmt.Errorf("chunk exceeds %d-byte frame limit", MaxFrame)

// A stream is an answer in pieces, made as they are sent.
type Stream struct {
	Kind    string                                            // of the answer it stands for
	Chunks  func(emit func(any) (more bool, err error)) error // makes them
	Summary kit.Object                                        // nil for none
}

// A list is an answer of items in one frame.
type List struct {
	Kind, Name string
	Items      []any
}

// MarshalJSON implements json.Marshaler.
func (l List) MarshalJSON() ([]byte, error) {
	return kit.JSON(kit.Object{"kind", l.Kind, l.Name, l.Items})
}

// Listed is a stream for a client that prefers one, else a list of its chunks.
func Listed(st *Stream, name string, streams bool) (any, error) {
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
		if out = append(out, chunk); size > 2*MaxFrame { // it will not fit, however it is written
			return false, ErrTooLong
		}
		return true, nil
	})
	return List{st.Kind, name, out}, err
}

// Each makes the frames of the stream and puts them, until put says that the client is gone, or stands says why it may
// not stay. A chunk that is too large ends the stream with an error, and the connection goes on.
func (st *Stream) Each(stands func() error, put func(kind string, frame []byte) bool) bool {
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
		if err := stands(); err != nil {
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

// MaxFrame is the largest payload, in both directions.
const MaxFrame = 8 << 20

// ErrTooLong is the answer in place of one that fits no frame.
var ErrTooLong = fmt.Errorf("response exceeds %d-byte frame limit; lower limit or set prefer_stream", MaxFrame)

// Fault is the answer for a request that could not be done.
func Fault(message string) kit.Object { return kit.Object{"kind", "error", "message", message} }

// TextToken rejects a token.
const TextToken = "unknown or revoked token"
