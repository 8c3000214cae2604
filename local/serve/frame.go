package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairndb/cairn/wire/large"
)

// Head is the number of bytes before a body.
const Head = 4

// A Format is one protocol's way of framing. It is a value and safe for any number of goroutines.
type Format struct {
	Max uint32 // the largest body; one byte more is refused
}

// TooLarge is a body over the limit, read or to be written.
type TooLarge struct{ Len, Max uint64 }

func (e *TooLarge) Error() string { return fmt.Sprintf("frame too large: %d > %d", e.Len, e.Max) }

// Read reads one frame and returns its body, in buf when it has the room. The end of the stream between frames is
// io.EOF, inside a frame io.ErrUnexpectedEOF, a length over the limit *TooLarge. It reads no byte behind the frame.
func (f Format) Read(r io.Reader, buf []byte) ([]byte, error) {
	n, err := f.ReadHead(r)
	if err != nil {
		return nil, err
	}
	return f.ReadBody(r, buf, n)
}

// ReadHead reads a frame's length, for callers that must know the size before they make room for it.
func (f Format) ReadHead(r io.Reader) (int, error) {
	var head [Head]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > f.Max {
		return 0, &TooLarge{Len: uint64(n), Max: uint64(f.Max)}
	}
	return int(n), nil
}

// ReadBody reads the n bytes that ReadHead announced.
func (f Format) ReadBody(r io.Reader, buf []byte, n int) ([]byte, error) {
	return large.Exactly(buf[:0], r, n)
}

// ReadFrame reads one frame of a connection. A large one needs a place, which it waits for as long as ctx lasts; begins
// is called when it has one. done gives the place back, when the request is answered; it may be called in any case.
func (l Large) ReadFrame(ctx context.Context, f Format, r io.Reader, buf []byte, begins func()) (body []byte, done func(), err error) {
	done = func() {}
	n, err := f.ReadHead(r)
	if err != nil {
		return nil, done, err
	}
	if n > LargeRequest {
		if done, err = l.Place(ctx); err != nil {
			return nil, done, err
		}
		begins()
	}
	body, err = f.ReadBody(r, buf, n)
	return body, done, err
}

// Append adds a frame to dst, or refuses the body with *TooLarge.
func (f Format) Append(dst, body []byte) ([]byte, error) {
	if uint64(len(body)) > uint64(f.Max) {
		return dst, &TooLarge{Len: uint64(len(body)), Max: uint64(f.Max)}
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(body))), body...), nil
}

// Write sends a frame in one piece.
func (f Format) Write(w io.Writer, body []byte) error {
	b, err := f.Append(make([]byte, 0, Head+min(len(body), int(f.Max))), body)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
