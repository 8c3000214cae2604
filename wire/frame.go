package wire

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairndb/cairn/wire/large"
)

// The bounds and flags of a frame.
const (
	Version      = 1        // low six bits of the flags byte
	FlagJSON     = 0x80     // the payload is JSON
	FlagZstd     = 0x40     // the payload is compressed; decompress before anything else
	MaxPayload   = 16 << 20 // as transmitted
	MaxLength    = 6 + MaxPayload
	CompressFrom = 4096 // payloads of at least this size are compressed if that makes them smaller

	headLen   = 10
	minLength = 6
)

// Maximum sizes of a decompressed payload.
const (
	MaxPlainEarly  = 64 << 10 // before AUTH or CLUSTER_HELLO; the frame itself may be no longer
	MaxPlainClient = 16 << 20
	MaxPlainPeer   = 20 << 20 // the largest log entry and a page of others
)

// A Frame is one message on a stream. Flags holds the flag bits and the version, Payload the bytes as transmitted.
type Frame struct {
	Flags   uint8
	Op      Op
	Stream  uint32
	Payload []byte
}

func (f Frame) String() string {
	return fmt.Sprintf("flags=0x%02x op=%s stream=%d payload=%x", f.Flags, f.Op, f.Stream, f.Payload)
}

// JSON reports whether the payload is JSON. The reply must then be JSON too.
func (f Frame) JSON() bool { return f.Flags&FlagJSON != 0 }

// AppendFrame appends a frame to dst.
func AppendFrame(dst []byte, f Frame) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(minLength+len(f.Payload)))
	dst = append(dst, f.Flags, byte(f.Op))
	dst = binary.BigEndian.AppendUint32(dst, f.Stream)
	return append(dst, f.Payload...)
}

// A FrameError reports an invalid frame. Except after ErrChecksum, the reader does not know where the next frame
// begins, so the connection must be closed.
type FrameError struct{ Text string }

func (e *FrameError) Error() string { return e.Text }

// Reader reads frames from a stream. It is not safe for concurrent use.
type Reader struct {
	r    io.Reader
	max  int
	head [headLen]byte

	large     int             // announce payloads of at least this size
	announce  func(int) error // called when the first piece has arrived
	piece     func() error    // called before each piece
	checksums bool            // frames end with one
}

// NewReader returns a reader of frames whose length field is at most maxLength.
func NewReader(r io.Reader, maxLength int) *Reader { return &Reader{r: r, max: maxLength} }

// SetLimit changes maxLength for the following frames.
func (r *Reader) SetLimit(maxLength int) { r.max = maxLength }

// Announce registers functions for payloads of at least n bytes: f is called with the length when the first piece
// (large.Piece) has arrived, and piece before each piece. An error of either aborts the frame.
func (r *Reader) Announce(n int, f func(length int) error, piece func() error) {
	r.large, r.announce, r.piece = max(n, large.Piece), f, piece
}

// payload reads a payload of n bytes.
func (r *Reader) payload(n int) ([]byte, error) {
	if r.announce == nil || n < r.large {
		return large.Exactly(nil, r.r, n)
	}
	in := large.Paced(r.r, r.piece)
	begun, err := large.Exactly(nil, in, large.Piece)
	if err == nil {
		err = r.announce(n)
	}
	if err != nil {
		return nil, err
	}
	return large.Exactly(begun, in, n)
}

// Next returns the next frame. The error is io.EOF between frames, io.ErrUnexpectedEOF inside a frame, and a
// FrameError for an invalid length or version. The caller owns the payload.
func (r *Reader) Next() (f Frame, err error) {
	if _, err := io.ReadFull(r.r, r.head[:4]); err != nil {
		return f, err
	}
	n := int64(binary.BigEndian.Uint32(r.head[:4]))
	if n < minLength {
		return f, &FrameError{fmt.Sprintf("frame body too small: %d bytes (minimum %d)", n, minLength)}
	}
	if n > int64(r.max) {
		return f, &FrameError{fmt.Sprintf("frame body too large: %d bytes", n)}
	}
	if _, err := large.Exactly(r.head[4:4], r.r, headLen-4); err != nil {
		return f, err
	}
	f = Frame{Flags: r.head[4], Op: Op(r.head[5]), Stream: binary.BigEndian.Uint32(r.head[6:])}
	if f.Payload, err = r.payload(int(n) - minLength); err != nil {
		return f, err
	}
	if r.checksums {
		if f.Payload, err = r.verifyChecksum(f.Payload); err != nil {
			return f, err
		}
	}
	if v := f.Flags & 0x3F; v > Version {
		return f, &FrameError{fmt.Sprintf("unsupported protocol version %d", v)}
	}
	return f, nil
}
