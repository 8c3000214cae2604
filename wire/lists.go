package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// appendOctets appends a byte vector of the original protocol: an array of integers. Readers accept a byte string
// too.
func appendOctets(b, v []byte) []byte {
	b = appendArray(b, len(v))
	for _, x := range v {
		b = appendUint(b, x)
	}
	return b
}

func readOctets(in input) ([]byte, error) {
	switch in.kind {
	case kBin:
		return append([]byte{}, in.bytes()...), nil
	case kArray:
		out, pos := make([]byte, in.n), in.at+in.size
		for i := range out {
			e, err := header(in.b[pos:])
			if err != nil || e.kind != kUint || e.u > math.MaxUint8 {
				return nil, in.errorf("element %d is not a byte", i)
			}
			out[i] = byte(e.u)
			pos += e.size
		}
		return out, nil
	default:
		return nil, in.typeError("a sequence")
	}
}

// readBin reads a byte string of Cairn's own messages. It shares the payload's memory.
func readBin(in input) ([]byte, error) {
	if in.kind != kBin {
		return readOctets(in)
	}
	return in.bytes(), nil
}

// appendFloats appends an embedding as float32. Readers accept numbers of any kind.
func appendFloats(b []byte, v []float32) []byte {
	b = appendArray(b, len(v))
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(append(b, msgpcode.Float), math.Float32bits(x))
	}
	return b
}

func readFloats(in input) ([]float32, error) {
	if in.kind != kArray {
		return nil, in.typeError("a sequence of numbers")
	}
	out, pos := make([]float32, in.n), in.at+in.size
	for i := range out {
		e, err := header(in.b[pos:])
		if err != nil {
			return nil, err
		}
		f, ok := e.float()
		if !ok {
			return nil, in.errorf("element %d is not a number", i)
		}
		out[i] = float32(f)
		pos += e.size
	}
	return out, nil
}

func appendStrs(b []byte, v []string) []byte {
	b = appendArray(b, len(v))
	for _, s := range v {
		b = appendStr(b, s)
	}
	return b
}

func readStrs(in input) ([]string, error) {
	if in.kind != kArray {
		return nil, in.typeError("a sequence of strings")
	}
	if in.n > maxValues {
		return nil, in.errorf("%d values, %d allowed", in.n, maxValues)
	}
	out, pos := make([]string, 0, min(int(in.n), 1024)), in.at+in.size
	for range in.n {
		e, err := in.value(pos)
		if err != nil {
			return nil, err
		}
		s, err := readStr(e)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		pos += e.size + int(e.n)
	}
	return out, nil
}

// A lengthCapped message may occur at most most() times in a list, because a decoded message takes hundreds of bytes
// and an encoded one few.
type lengthCapped interface{ most() uint32 }

// listCodec returns the codec of a list of messages.
func listCodec(t reflect.Type, p *plan) codec {
	most := uint32(math.MaxUint32)
	if m, ok := reflect.Zero(t.Elem()).Interface().(lengthCapped); ok {
		most = m.most()
	}
	return codec{
		zero: func(at unsafe.Pointer) bool { return reflect.NewAt(t, at).Elem().IsNil() },
		write: func(b []byte, at unsafe.Pointer) []byte {
			v := reflect.NewAt(t, at).Elem()
			b = appendArray(b, v.Len())
			for i := range v.Len() {
				b = p.write(b, v.Index(i).Addr().UnsafePointer())
			}
			return b
		},
		read: func(in input, at unsafe.Pointer) error {
			if in.kind != kArray {
				return in.typeError("a sequence")
			}
			if in.n > most {
				return fmt.Errorf("%w: %s: %d values, %d allowed", ErrPayload, in.name, in.n, most)
			}
			return p.readList(in, reflect.NewAt(t, at).Elem())
		},
	}
}

func (p *plan) readList(in input, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, min(int(in.n), 256))) // grow with the messages read, not with the announced count
	pos := in.at + in.size
	for i := range int(in.n) {
		if v.Len() == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		e, err := in.value(pos)
		if err != nil {
			return err
		}
		if err := p.read(e, v.Index(i).Addr().UnsafePointer()); err != nil {
			return fmt.Errorf("%s[%d]: %w", in.name, i, err)
		}
		if pos, err = skip(in.b, pos); err != nil {
			return err
		}
	}
	return nil
}
