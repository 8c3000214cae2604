package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairndb/cairn/wire/large"
)

// A Format is the framing of one protocol. It is a value and safe for concurrent use.
type Format struct {
	Max uint32 // the largest body; one byte more is rejected
}

// TooLarge reports a body over the limit, read or to be written.
type TooLarge struct{ Len, Max uint64 }

func (e *TooLarge) Error() string { return fmt.Sprintf("frame too large: %d > %d", e.Len, e.Max) }

// Read reads one frame and returns its body, in buf if buf is large enough. It returns io.EOF if the stream ends
// between frames, io.ErrUnexpectedEOF if it ends inside a frame, and *TooLarge for a length over the limit. It reads
// no byte after the frame.
func (f Format) Read(r io.Reader, buf []byte) ([]byte, error) {
	n, err := f.readLength(r)
	if err != nil {
		return nil, err
	}
	return large.Exactly(buf[:0], r, n)
}

// readLength reads the four length bytes of a frame and rejects a length over the limit.
func (f Format) readLength(r io.Reader) (int, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > f.Max {
		return 0, &TooLarge{Len: uint64(n), Max: uint64(f.Max)}
	}
	return int(n), nil
}

// ReadFrame reads one frame of a connection. A large frame waits for a slot until ctx ends, and then calls begins.
// The caller calls done when the request is answered, also after an error: it releases the slot.
func (l Large) ReadFrame(ctx context.Context, f Format, r io.Reader, buf []byte, begins func()) (body []byte, done func(), err error) {
	done = func() {}
	n, err := f.readLength(r)
	if err != nil {
		return nil, done, err
	}
	if n > LargeRequest {
		if done, err = l.Acquire(ctx); err != nil {
			return nil, done, err
		}
		begins()
	}
	body, err = large.Exactly(buf[:0], r, n)
	return body, done, err
}

// Write sends a frame with one call of w.Write. It rejects a body over the limit with *TooLarge.
func (f Format) Write(w io.Writer, body []byte) error {
	if uint64(len(body)) > uint64(f.Max) {
		return &TooLarge{Len: uint64(len(body)), Max: uint64(f.Max)}
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err := w.Write(append(b, body...))
	return err
}
