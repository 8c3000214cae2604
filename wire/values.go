package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/cairndb/cairn/wire/field"
)

type codecKey struct {
	t    reflect.Type
	kind string
}

func of[T any](kind string) codecKey { return codecKey{reflect.TypeFor[T](), kind} }

// codecs maps types that are not messages, with the kind in the tag, to their codecs.
var codecs = map[codecKey]codec{
	of[string](""):        scalarCodec(appendStr, readStr),
	of[bool](""):          scalarCodec(appendBool, readBool),
	of[float64](""):       scalarCodec(appendF64, readF64),
	of[float64]("date"):   scalarCodec(appendF64, readDate),
	of[float64]("unit"):   scalarCodec(appendF64, readBounded(field.Unit)),
	of[float64]("signed"): scalarCodec(appendF64, readBounded(field.Signed)),
	of[float64]("hours"):  scalarCodec(appendF64, readBounded(field.Hours)),
	of[float64]("weight"): scalarCodec(appendF64, readBounded(field.Weight)),
	of[int](""):           scalarCodec(appendInt[int], readInt[int]),
	of[int64](""):         scalarCodec(appendInt[int64], readInt[int64]),
	of[uint8](""):         scalarCodec(appendUint[uint8], readUint[uint8]),
	of[uint32](""):        scalarCodec(appendUint[uint32], readUint[uint32]),
	of[uint64](""):        scalarCodec(appendUint[uint64], readUint[uint64]),
	of[field.Token](""):   scalarCodec(appendToken, readToken),
	of[Code](""):          scalarCodec(appendUint[Code], readUint[Code]),
	of[[]string](""):      sliceCodec(appendStrs, readStrs),
	of[[]byte](""):        sliceCodec(appendBin, readBin),
	of[[]byte]("octets"):  sliceCodec(appendOctets, readOctets),
	of[[]float32](""):     sliceCodec(appendFloats, readFloats),
	of[JSON](""):          typedCodec(func(v JSON) bool { return len(v) == 0 }, appendJSON, readJSON),
}

// typedCodec returns the codec of type T. codecOf uses it only for fields of exactly this type.
func typedCodec[T any](zero func(T) bool, write func([]byte, T) []byte, read func(input) (T, error)) codec {
	return codec{
		zero:  func(p unsafe.Pointer) bool { return zero(*(*T)(p)) },
		write: func(b []byte, p unsafe.Pointer) []byte { return write(b, *(*T)(p)) },
		read: func(in input, p unsafe.Pointer) (err error) {
			*(*T)(p), err = read(in)
			return err
		},
	}
}

func scalarCodec[T comparable](write func([]byte, T) []byte, read func(input) (T, error)) codec {
	return typedCodec(func(v T) bool { return v == *new(T) }, write, read)
}

func sliceCodec[T any](write func([]byte, []T) []byte, read func(input) ([]T, error)) codec {
	return typedCodec(func(v []T) bool { return v == nil }, write, read)
}

func readStr(in input) (string, error) {
	if in.kind != kStr && in.kind != kBin {
		return "", in.typeError("a string")
	}
	raw := in.bytes()
	if !utf8.Valid(raw) {
		return "", in.errorf("invalid utf-8")
	}
	return string(raw), nil
}

func readBool(in input) (bool, error) {
	if in.kind != kBool {
		return false, in.typeError("a boolean")
	}
	return in.u == 1, nil
}

func readF64(in input) (float64, error) {
	f, ok := in.float()
	if !ok {
		return 0, in.typeError("a number")
	}
	return f, nil
}

func (h head) float() (float64, bool) {
	switch h.kind {
	case kFloat:
		return math.Float64frombits(h.u), true
	case kUint:
		return float64(h.u), true
	case kInt:
		return float64(int64(h.u)), true
	}
	return 0, false
}

// readBounded returns a reader of numbers that checks the bounds of a kind if the input is exact.
func readBounded(k field.Kind) func(input) (float64, error) {
	return func(in input) (float64, error) {
		f, err := readF64(in)
		if err == nil && in.exact {
			if out := k.Number(in.name, f); out != nil {
				err = fmt.Errorf("%w: %w", ErrPayload, out)
			}
		}
		return f, err
	}
}

// appendToken appends a log position as bytes, which are opaque to clients.
func appendToken(b []byte, t field.Token) []byte {
	return appendBin(b, binary.BigEndian.AppendUint64(nil, uint64(t)))
}

// readToken reads a log position: bytes, which JSON clients send as a list of numbers; a number, as the oldest
// clients send; or a string, as over HTTP.
func readToken(in input) (field.Token, error) {
	switch in.kind {
	case kUint:
		return field.Token(in.u), nil
	case kStr:
		t, err := field.ParseToken(string(in.bytes()))
		if err != nil {
			return 0, in.typeError(wantToken)
		}
		return t, nil
	}
	raw, err := readBin(in)
	if err != nil || len(raw) != 8 {
		return 0, in.typeError(wantToken)
	}
	return field.Token(binary.BigEndian.Uint64(raw)), nil
}

const wantToken = "a position in the log, as answers have it"

// readDate reads a time in Unix seconds from a number or RFC 3339 text. It rejects anything else, even if the input
// is not exact.
func readDate(in input) (float64, error) {
	var t time.Time
	err := errors.New("neither")
	if f, ok := in.float(); ok {
		if f == 0 { // 0 means absent
			return 0, nil
		}
		t, err = field.Unix(f)
	} else if in.kind == kStr {
		t, err = field.ParseDate(string(in.bytes()))
	}
	if err != nil {
		return 0, in.errorf("want %s", field.WantDate)
	}
	return field.Seconds(t), nil
}

func readUint[T unsigned](in input) (T, error) {
	if in.kind != kUint || uint64(T(in.u)) != in.u {
		return 0, in.typeError(fmt.Sprintf("an unsigned integer of at most %d", uint64(^T(0))))
	}
	return T(in.u), nil
}

func readInt[T int | int64](in input) (T, error) {
	if (in.kind != kUint || in.u > math.MaxInt64) && in.kind != kInt {
		return 0, in.typeError("an integer")
	}
	return T(int64(in.u)), nil
}
