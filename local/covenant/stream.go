package covenant

import "fmt"

var errChunk = fmt.Errorf("chunk exceeds %d-byte frame limit", MaxFrame)

// A stream is an answer in pieces, made as they are sent.
type stream struct {
	kind    string                                            // of the answer it stands for
	chunks  func(emit func(any) (more bool, err error)) error // makes them
	summary func() any                                        // nil for none
}

type streamBegin struct {
	Kind     string `json:"kind"`
	ID       string `json:"stream_id"`
	Response string `json:"response_kind"`
}

type streamChunk struct {
	Kind     string `json:"kind"`
	ID       string `json:"stream_id"`
	Sequence uint64 `json:"sequence"`
	Chunk    any    `json:"chunk"`
}

type streamEnd struct {
	Kind    string `json:"kind"`
	ID      string `json:"stream_id"`
	Summary any    `json:"summary,omitempty"`
}

type streamError struct {
	Kind    string `json:"kind"`
	ID      string `json:"stream_id"`
	Message string `json:"message"`
}

// each makes the frames of the stream and puts them, until put says that the client is gone. A chunk that is too large ends
// the stream with an error, and the connection goes on.
func (st *stream) each(tooLarge func([]byte) bool, put func([]byte) bool) bool {
	id, alive := newID(), true
	send := func(v any) error {
		b, err := encode(v)
		if err == nil && tooLarge(b) {
			err = errChunk
		}
		if err == nil {
			alive = put(b)
		}
		return err
	}
	if err := send(streamBegin{"stream_begin", id, st.kind}); err != nil || !alive {
		return false
	}
	var seq uint64
	err := st.chunks(func(chunk any) (bool, error) {
		err := send(streamChunk{"stream_chunk", id, seq, chunk})
		seq++
		return alive, err
	})
	switch {
	case !alive:
	case err != nil:
		err = send(streamError{"stream_error", id, err.Error()})
	case st.summary != nil:
		err = send(streamEnd{"stream_end", id, st.summary()})
	default:
		err = send(streamEnd{Kind: "stream_end", ID: id})
	}
	return alive && err == nil
}
