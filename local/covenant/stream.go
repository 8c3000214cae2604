package covenant

import (
	"encoding/json"
	"fmt"

	"github.com/cairndb/cairn/local/kit"
)

var errChunk = fmt.Errorf("chunk exceeds %d-byte frame limit", MaxFrame)

// A stream is an answer in pieces, made as they are sent.
type stream struct {
	kind    string                                            // of the answer it stands for
	chunks  func(emit func(any) (more bool, err error)) error // makes them
	summary kit.Object                                        // nil for none
}

// A list is an answer of items in one frame.
type list struct {
	kind, name string
	items      []any
}

// MarshalJSON implements json.Marshaler.
func (l list) MarshalJSON() ([]byte, error) {
	return kit.JSON(kit.Object{"kind", l.kind, l.name, l.items})
}

// listed is a stream for a client that prefers one, else a list of its chunks.
func listed(st *stream, name string, streams bool) (any, error) {
	if streams {
		return st, nil
	}
	out, size := []any{}, 0
	err := st.chunks(func(chunk any) (bool, error) {
		switch c := chunk.(type) {
		case interface{ Weight() int }:
			size += c.Weight()
		case json.RawMessage:
			size += len(c)
		}
		if out = append(out, chunk); size > 2*MaxFrame { // it will not fit, however it is written
			return false, errOutput
		}
		return true, nil
	})
	return list{st.kind, name, out}, err
}

// each makes the frames of the stream and puts them, until put says that the client is gone, or stands says why it may
// not stay. A chunk that is too large ends the stream with an error, and the connection goes on.
func (st *stream) each(stands func() error, put func(kind string, frame []byte) bool) bool {
	id, alive := newID(), true
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
	if err := send("stream_begin", "response_kind", st.kind); err != nil || !alive {
		return false
	}
	var seq uint64
	err := st.chunks(func(chunk any) (bool, error) {
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
	case st.summary != nil:
		err = send("stream_end", "summary", st.summary)
	default:
		err = send("stream_end")
	}
	return alive && err == nil
}

// MaxFrame is the largest payload, in both directions.
const MaxFrame = 8 << 20

var errOutput = fmt.Errorf("response exceeds %d-byte frame limit; lower limit or set prefer_stream", MaxFrame)

// fault is the answer for a request that could not be done.
func fault(message string) kit.Object { return kit.Object{"kind", "error", "message", message} }

// TextToken refuses a token.
const TextToken = "unknown or revoked token"
