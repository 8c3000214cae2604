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
	CompressFrom = 4096 // raw bytes from which a payload is compressed, when that makes it smaller

	headLen   = 10
	minLength = 6
)

// The most bytes that a payload may have when it is decompressed.
const (
	MaxPlainEarly  = 64 << 10 // before AUTH or CLUSTER_HELLO; the frame itself may be no longer
	MaxPlainClient = 16 << 20
	MaxPlainPeer   = 20 << 20 // the largest entry, and a page of others
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

// JSON reports whether the payload is JSON; a reply to it is too.
func (f Frame) JSON() bool { return f.Flags&FlagJSON != 0 }

// AppendFrame writes a frame behind dst.
func AppendFrame(dst []byte, f Frame) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(minLength+len(f.Payload)))
	dst = append(dst, f.Flags, byte(f.Op))
	dst = binary.BigEndian.AppendUint32(dst, f.Stream)
	return append(dst, f.Payload...)
}

// A FrameError says what is wrong with a frame. After any but ErrChecksum the reader does not know where the next frame
// begins: close the connection.
type FrameError struct{ Text string }

func (e *FrameError) Error() string { return e.Text }

// Reader reads frames from a stream. One goroutine at a time.
type Reader struct {
	r    io.Reader
	max  int
	head [headLen]byte

	large     int             // payloads from here on are announced
	announce  func(int) error // when their first piece is there
	piece     func() error    // before each piece of them
	checksums bool            // frames end with one
}

// NewReader reads frames whose length field is at most maxLength.
func NewReader(r io.Reader, maxLength int) *Reader { return &Reader{r: r, max: maxLength} }

// SetLimit changes the largest length field accepted from the next frame on.
func (r *Reader) SetLimit(maxLength int) { r.max = maxLength }

// Announce has f called with the length of each payload of at least n bytes when its first piece (large.Piece) has
// come, and piece before each of its pieces. An error of either ends the frame.
func (r *Reader) Announce(n int, f func(length int) error, piece func() error) {
	r.large, r.announce, r.piece = max(n, large.Piece), f, piece
}

// payload reads so many bytes.
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

// Next returns the next frame: io.EOF between frames, io.ErrUnexpectedEOF inside one, a FrameError for a
// length or version that cannot be served. The payload is the caller's.
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
		if f.Payload, err = r.checked(f.Payload); err != nil {
			return f, err
		}
	}
	if v := f.Flags & 0x3F; v > Version {
		return f, &FrameError{fmt.Sprintf("unsupported protocol version %d", v)}
	}
	return f, nil
}
