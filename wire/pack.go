package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4)) // compressed frames contain checksums
	if err != nil {
		panic("wire: zstd writer: " + err.Error())
	}
	return e
})

// decoders maps memory limits to decoders, because the limit is an option of the decoder.
var decoders = map[int]func() *zstd.Decoder{
	MaxPlainEarly:  newDecoder(MaxPlainEarly),
	MaxPlainClient: newDecoder(MaxPlainClient),
	MaxPlainPeer:   newDecoder(MaxPlainPeer),
}

func newDecoder(limit int) func() *zstd.Decoder {
	return sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(uint64(limit)), zstd.WithDecoderConcurrency(0),
			zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic("wire: zstd reader: " + err.Error())
		}
		return d
	})
}

// Empty returns a frame without payload.
func Empty(op Op, stream uint32) Frame { return Frame{Flags: Version, Op: op, Stream: stream} }

// Pack returns the frame of a message, as msgpack or JSON, compressed if that makes it smaller.
func Pack(op Op, stream uint32, m Message, json bool) (Frame, error) {
	b, err := AppendPack(nil, op, stream, m, json)
	if err != nil {
		return Frame{}, err
	}
	return Frame{Flags: b[4], Op: op, Stream: stream, Payload: b[headLen:]}, nil
}

// AppendPack appends a message's frame to dst.
func AppendPack(dst []byte, op Op, stream uint32, m Message, json bool) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0, Version, byte(op))
	dst = binary.BigEndian.AppendUint32(dst, stream)
	dst = encodeInto(dst, m)
	if json {
		text, err := msgpackToJSON(dst[start+headLen:])
		if err != nil {
			return nil, err
		}
		dst = append(dst[:start+headLen], text...)
		dst[start+4] |= FlagJSON
	}
	if raw := dst[start+headLen:]; len(raw) >= CompressFrom {
		if packed := encoder().EncodeAll(raw, nil); len(packed) < len(raw) {
			dst = append(dst[:start+headLen], packed...)
			dst[start+4] |= FlagZstd
		}
	}
	n := len(dst) - start - 4
	if n > MaxLength || n > math.MaxUint32 {
		return nil, &FrameError{Text: fmt.Sprintf("frame body too large: %d bytes", n)}
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(n))
	return dst, nil
}

func msgpackToJSON(b []byte) ([]byte, error) {
	t := treeReader{left: math.MaxInt}
	x, _, err := t.read(b, 0)
	if err != nil {
		return nil, err
	}
	return marshal(x)
}

// PlainSize returns the decompressed length that a frame announces, at most maxPlain; maxPlain if it announces none.
func PlainSize(f Frame, maxPlain int) int {
	if f.Flags&FlagZstd == 0 {
		return len(f.Payload)
	}
	var h zstd.Header
	if h.Decode(f.Payload) != nil || !h.HasFCS {
		return maxPlain
	}
	return int(min(h.FrameContentSize, uint64(maxPlain)))
}

// decompress decompresses a payload into a buffer of its exact size. If the payload announces no length or one that
// is too small, it first counts the length, so that a payload that is too long allocates nothing.
func decompress(b []byte, maxPlain int) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(b); err == nil && h.HasFCS {
		if h.FrameContentSize > uint64(maxPlain) {
			return nil, zstd.ErrDecoderSizeExceeded
		}
		out, err := decoders[maxPlain]().DecodeAll(b, make([]byte, 0, h.FrameContentSize))
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			return out, err
		}
	}
	n, err := countPlain(b, maxPlain)
	if err != nil {
		return nil, err
	}
	return decoders[maxPlain]().DecodeAll(b, make([]byte, 0, n))
}

// countWindow bounds the window of a compressed payload, and so the memory for counting.
const countWindow = 8 << 20

// countingDecoders pools decoders that only count the decompressed bytes.
var countingDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(countWindow), zstd.WithDecodeBuffersBelow(0))
	if err != nil {
		panic("wire: zstd reader: " + err.Error())
	}
	return d
}}

func countPlain(b []byte, maxPlain int) (int, error) {
	d := countingDecoders.Get().(*zstd.Decoder)
	defer countingDecoders.Put(d)
	if err := d.Reset(bytes.NewReader(b)); err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(d, int64(maxPlain)+1))
	if n > int64(maxPlain) {
		return 0, zstd.ErrDecoderSizeExceeded
	}
	return int(n), err
}

// Plain returns a frame's payload as one scanned msgpack value. It decompresses up to maxPlain bytes, one of the
// MaxPlain constants, and converts JSON.
func Plain(f Frame, maxPlain int) ([]byte, error) {
	b := f.Payload
	if f.Flags&FlagZstd != 0 {
		if len(b) == 0 {
			return nil, fmt.Errorf("%w: compressed payload is empty", ErrPayload)
		}
		var err error
		if b, err = decompress(b, maxPlain); err != nil {
			return nil, fmt.Errorf("%w: zstd: %w", ErrPayload, err)
		}
	}
	if len(b) > maxPlain {
		return nil, fmt.Errorf("%w: %d bytes, %d allowed here", ErrPayload, len(b), maxPlain)
	}
	if f.JSON() {
		var err error
		if b, err = jsonToMsgpack(b); err != nil {
			return nil, err
		}
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty payload", ErrPayload)
	}
	if _, err := Scan(b); err != nil {
		return nil, err
	}
	return b, nil
}

// Unpack decodes a frame's message. Byte strings of peer messages share the payload's memory; everything else is
// copied. It ignores unknown keys, so that messages of newer senders can be read. After an error the message must not
// be used.
func Unpack(f Frame, m Message, maxPlain int) error { return unpack(f, m, maxPlain, false) }

// UnpackExact is Unpack for a client's request: it rejects unknown keys and numbers out of range, by name.
func UnpackExact(f Frame, m Message, maxPlain int) error { return unpack(f, m, maxPlain, true) }

func unpack(f Frame, m Message, maxPlain int, exact bool) error {
	b, err := Plain(f, maxPlain)
	if err != nil {
		return err
	}
	return decodeAt(b, 0, m, exact)
}
