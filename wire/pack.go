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
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4)) // its frames have sums
	if err != nil {
		panic("wire: zstd writer: " + err.Error())
	}
	return e
})

// decoders by memory limit: the limit is the decoder's, so each cap has its own.
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

// Empty is a frame without payload.
func Empty(op Op, stream uint32) Frame { return Frame{Flags: Version, Op: op, Stream: stream} }

// Pack makes a message's frame: msgpack, or JSON; compressed when that pays.
func Pack(op Op, stream uint32, m Message, json bool) (Frame, error) {
	b, err := AppendPack(nil, op, stream, m, json)
	if err != nil {
		return Frame{}, err
	}
	return Frame{Flags: b[4], Op: op, Stream: stream, Payload: b[headLen:]}, nil
}

// AppendPack writes a message's whole frame behind dst, in one buffer.
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
	t := tree{left: math.MaxInt}
	x, _, err := t.read(b, 0)
	if err != nil {
		return nil, err
	}
	return marshal(x)
}

// PlainSize is the decompressed length that a frame announces, or maxPlain when it announces none.
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

// unzstd decompresses a payload into memory of its size. A payload that does not announce its length, or too small a
// one, is counted first, so one that is too long allocates nothing.
func unzstd(b []byte, maxPlain int) ([]byte, error) {
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

// countWindow bounds how far back a compressed payload may refer, and so the memory that counting needs.
const countWindow = 8 << 20

// counters decompress only to count, and drop the output.
var counters = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(countWindow), zstd.WithDecodeBuffersBelow(0))
	if err != nil {
		panic("wire: zstd reader: " + err.Error())
	}
	return d
}}

func countPlain(b []byte, maxPlain int) (int, error) {
	d := counters.Get().(*zstd.Decoder)
	defer counters.Put(d)
	if err := d.Reset(bytes.NewReader(b)); err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(d, int64(maxPlain)+1))
	if n > int64(maxPlain) {
		return 0, zstd.ErrDecoderSizeExceeded
	}
	return int(n), err
}

// Plain is a frame's payload as one checked msgpack value: decompressed within maxPlain (one of the
// MaxPlain constants), turned from JSON if need be, and scanned.
func Plain(f Frame, maxPlain int) ([]byte, error) {
	b := f.Payload
	if f.Flags&FlagZstd != 0 {
		if len(b) == 0 {
			return nil, fmt.Errorf("%w: compressed payload is empty", ErrPayload)
		}
		var err error
		if b, err = unzstd(b, maxPlain); err != nil {
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

// Unpack reads a frame's message. Byte strings of peer messages share the payload's memory; everything else is copied.
// Unknown keys are passed over, so that a newer sender is understood. After an error the message is not to be used.
func Unpack(f Frame, m Message, maxPlain int) error { return unpack(f, m, maxPlain, false) }

// UnpackExact is Unpack for a request: it rejects unknown keys and numbers out of range, by name.
func UnpackExact(f Frame, m Message, maxPlain int) error { return unpack(f, m, maxPlain, true) }

func unpack(f Frame, m Message, maxPlain int, exact bool) error {
	b, err := Plain(f, maxPlain)
	if err != nil {
		return err
	}
	return decodeAt(b, 0, m, exact)
}
