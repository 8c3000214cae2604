// Package zstd stands in for github.com/DataDog/zstd, which compiles a library in C wherever gcc is installed. Pebble
// imports that path when cgo is on; go.mod replaces it by this module, so that every build compresses in Go. It has
// the four functions that pebble calls, over klauspost's zstd. The frames are standard: either library reads the
// other's.
package zstd

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// ErrDstTooSmall reports a buffer that cannot hold the result.
var ErrDstTooSmall = errors.New("zstd: the destination is too small")

// Ctx compresses and decompresses. It is safe for one goroutine at a time.
type Ctx interface {
	// CompressLevel compresses src into dst, if dst has CompressBound(len(src)) bytes, and returns the part of it in
	// use.
	CompressLevel(dst, src []byte, level int) ([]byte, error)
	// DecompressInto decompresses src into dst and returns the number of bytes written.
	DecompressInto(dst, src []byte) (int, error)
}

// CompressBound returns an upper bound of the compressed length of n bytes.
func CompressBound(n int) int { return n + n>>8 + 64 }

// NewCtx returns a context. All contexts share their coders, which are made once a level.
func NewCtx() Ctx { return ctx{} }

type ctx struct{}

func (ctx) CompressLevel(dst, src []byte, level int) ([]byte, error) {
	enc, err := encoder(zstd.EncoderLevelFromZstd(level))
	if err != nil {
		return nil, err
	}
	out := enc.EncodeAll(src, dst[:0])
	if len(out) > len(dst) {
		return nil, ErrDstTooSmall
	}
	return dst[:copy(dst, out)], nil // the encoder may have moved to a larger buffer on its way; otherwise this copies onto itself
}

func (ctx) DecompressInto(dst, src []byte) (int, error) {
	dec, err := decoder()
	if err != nil {
		return 0, err
	}
	out, err := dec.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return 0, fmt.Errorf("zstd: %w", err)
	}
	return copy(dst, out), nil
}

var (
	encoders sync.Map // zstd.EncoderLevel to *zstd.Encoder

	// decoder returns the shared decoder, which writes no further than the capacity of its destination.
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	})
)

func encoder(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	if enc, ok := encoders.Load(level); ok {
		return enc.(*zstd.Encoder), nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	kept, _ := encoders.LoadOrStore(level, enc)
	return kept.(*zstd.Encoder), nil
}
