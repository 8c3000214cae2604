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

// codecs holds the codec of every type that is not a message, by type and by the kind in the tag.
var codecs = map[codecKey]codec{
	of[string](""):        scalar(appendStr, readStr),
	of[bool](""):          scalar(appendBool, readBool),
	of[float64](""):       scalar(appendF64, readF64),
	of[float64]("date"):   scalar(appendF64, readDate),
	of[float64]("unit"):   scalar(appendF64, within(field.Unit)),
	of[float64]("signed"): scalar(appendF64, within(field.Signed)),
	of[float64]("hours"):  scalar(appendF64, within(field.Hours)),
	of[float64]("weight"): scalar(appendF64, within(field.Weight)),
	of[int](""):           scalar(appendInt[int], readInt[int]),
	of[int64](""):         scalar(appendInt[int64], readInt[int64]),
	of[uint8](""):         scalar(appendUint[uint8], readUint[uint8]),
	of[uint32](""):        scalar(appendUint[uint32], readUint[uint32]),
	of[uint64](""):        scalar(appendUint[uint64], readUint[uint64]),
	of[field.Token](""):   scalar(appendToken, readToken),
	of[Code](""):          scalar(appendUint[Code], readUint[Code]),
	of[[]string](""):      slice(appendStrs, readStrs),
	of[[]byte](""):        slice(appendBin, readBin),
	of[[]byte]("octets"):  slice(appendOctets, readOctets),
	of[[]float32](""):     slice(appendFloats, readFloats),
	of[JSON](""):          typed(func(v JSON) bool { return len(v) == 0 }, appendJSON, readJSON),
}

// typed is the codec of a type. codecOf takes it for fields of that type alone.
func typed[T any](zero func(T) bool, write func([]byte, T) []byte, read func(input) (T, error)) codec {
	return codec{
		zero:  func(p unsafe.Pointer) bool { return zero(*(*T)(p)) },
		write: func(b []byte, p unsafe.Pointer) []byte { return write(b, *(*T)(p)) },
		read: func(in input, p unsafe.Pointer) (err error) {
			*(*T)(p), err = read(in)
			return err
		},
	}
}

func scalar[T comparable](write func([]byte, T) []byte, read func(input) (T, error)) codec {
	return typed(func(v T) bool { return v == *new(T) }, write, read)
}

func slice[T any](write func([]byte, []T) []byte, read func(input) ([]T, error)) codec {
	return typed(func(v []T) bool { return v == nil }, write, read)
}

func readStr(in input) (string, error) {
	if in.kind != kStr && in.kind != kBin {
		return "", in.wrong("a string")
	}
	raw := in.bytes()
	if !utf8.Valid(raw) {
		return "", in.fail("invalid utf-8")
	}
	return string(raw), nil
}

func readBool(in input) (bool, error) {
	if in.kind != kBool {
		return false, in.wrong("a boolean")
	}
	return in.u == 1, nil
}

func readF64(in input) (float64, error) {
	f, ok := in.float()
	if !ok {
		return 0, in.wrong("a number")
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

// within reads a number with the bounds of its kind, which an exact reader checks.
func within(k field.Kind) func(input) (float64, error) {
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

// appendToken writes a position of the log, which clients do not read, as bytes.
func appendToken(b []byte, t field.Token) []byte {
	return appendBin(b, binary.BigEndian.AppendUint64(nil, uint64(t)))
}

// readToken reads it as it was written, which is a list of numbers to a client that speaks JSON; as the number that it
// was to the oldest clients; or as the text that it is over HTTP.
func readToken(in input) (field.Token, error) {
	switch in.kind {
	case kUint:
		return field.Token(in.u), nil
	case kStr:
		t, err := field.ParseToken(string(in.bytes()))
		if err != nil {
			return 0, in.wrong(wantToken)
		}
		return t, nil
	}
	raw, err := readBin(in)
	if err != nil || len(raw) != 8 {
		return 0, in.wrong(wantToken)
	}
	return field.Token(binary.BigEndian.Uint64(raw)), nil
}

const wantToken = "a position in the log, as answers have it"

// readDate reads a time in Unix seconds, from a number or from RFC 3339. Anything else is rejected, also by a reader
// that is not exact.
func readDate(in input) (float64, error) {
	var t time.Time
	err := errors.New("neither")
	if f, ok := in.float(); ok {
		if f == 0 { // as absent as a field that is not written
			return 0, nil
		}
		t, err = field.Unix(f)
	} else if in.kind == kStr {
		t, err = field.ParseDate(string(in.bytes()))
	}
	if err != nil {
		return 0, in.fail("want %s", field.WantDate)
	}
	return field.Seconds(t), nil
}

func readUint[T unsigned](in input) (T, error) {
	if in.kind != kUint || uint64(T(in.u)) != in.u {
		return 0, in.wrong(fmt.Sprintf("an unsigned integer of at most %d", uint64(^T(0))))
	}
	return T(in.u), nil
}

func readInt[T int | int64](in input) (T, error) {
	if (in.kind != kUint || in.u > math.MaxInt64) && in.kind != kInt {
		return 0, in.wrong("an integer")
	}
	return T(int64(in.u)), nil
}
