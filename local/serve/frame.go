package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairndb/cairn/wire/large"
)

// A Format is one protocol's way of framing. It is a value and safe for any number of goroutines.
type Format struct {
	Max uint32 // the largest body; one byte more is rejected
}

// TooLarge is a body over the limit, read or to be written.
type TooLarge struct{ Len, Max uint64 }

func (e *TooLarge) Error() string { return fmt.Sprintf("frame too large: %d > %d", e.Len, e.Max) }

// Read reads one frame and returns its body, in buf when it has the room. The end of the stream between frames is
// io.EOF, inside a frame io.ErrUnexpectedEOF, a length over the limit *TooLarge. It reads no byte behind the frame.
func (f Format) Read(r io.Reader, buf []byte) ([]byte, error) {
	n, err := f.length(r)
	if err != nil {
		return nil, err
	}
	return large.Exactly(buf[:0], r, n)
}

func (f Format) length(r io.Reader) (int, error) {
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

// ReadFrame reads one frame of a connection. A large one needs a place, which it waits for as long as ctx lasts; begins
// is called when it has one. done gives the place back, when the request is answered; it may be called in any case.
func (l Large) ReadFrame(ctx context.Context, f Format, r io.Reader, buf []byte, begins func()) (body []byte, done func(), err error) {
	done = func() {}
	n, err := f.length(r)
	if err != nil {
		return nil, done, err
	}
	if n > LargeRequest {
		if done, err = l.Place(ctx); err != nil {
			return nil, done, err
		}
		begins()
	}
	body, err = large.Exactly(buf[:0], r, n)
	return body, done, err
}

// Write sends a frame in one piece, or rejects the body with *TooLarge.
func (f Format) Write(w io.Writer, body []byte) error {
	if uint64(len(body)) > uint64(f.Max) {
		return &TooLarge{Len: uint64(len(body)), Max: uint64(f.Max)}
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err := w.Write(append(b, body...))
	return err
}
