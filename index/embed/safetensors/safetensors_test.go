package safetensors

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// file returns a safetensors file with this header and data.
func file(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func read(raw []byte) (*File, error) { return Read(bytes.NewReader(raw), int64(len(raw))) }

func TestRead(t *testing.T) {
	f, err := read(file(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},
		"b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]},"c":{"dtype":"I64","shape":[1],"data_offsets":[10,18]},
		"none":{"dtype":"F32","shape":[0],"data_offsets":[18,18]},"odd":{"dtype":"F8_E4M3","shape":[9],"data_offsets":[0,9]}}`,
		0, 0x3c, 0, 0xc0, 1, 0, 0, 0x80, 0xc0, 0x3f, 7, 0, 0, 0, 0, 0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Tensor("a")
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Floats()
	if want := []float32{1, -2, 5.9604645e-08, float32(math.Copysign(0, -1))}; err != nil || !slices.Equal(got, want) {
		t.Errorf("F16: %v, %v, want %v", got, err, want)
	}
	row := make([]float32, 2)
	if a.Row(0, row); !slices.Equal(row, []float32{1, -2}) {
		t.Errorf("row 0: %v", row)
	}
	b, err := f.Tensor("b")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Floats(); err != nil || got[0] != 1.5 {
		t.Errorf("BF16: %v, %v", got, err)
	}
	if _, err := b.Ints(); err == nil {
		t.Error("BF16 are integers")
	}
	c, err := f.Tensor("c")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Ints(); err != nil || got[0] != 7 {
		t.Errorf("I64: %v, %v", got, err)
	}
	if _, err := f.Tensor("none"); err != nil {
		t.Errorf("an empty tensor: %v", err)
	}
	if _, err := f.Tensor("odd"); err == nil {
		t.Error("a tensor of a kind that is not known is there")
	}
}

func TestRefuses(t *testing.T) {
	for want, raw := range map[string][]byte{
		"too short":                   {1, 2},
		"a header of 9 bytes":         append(binary.LittleEndian.AppendUint64(nil, 9), '{', '}'),
		"a header of 18446744073709":  append(binary.LittleEndian.AppendUint64(nil, math.MaxUint64), '{', '}'),
		"header: ":                    file(`{`),
		"larger than the file":        file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, 0, 0, 0, 0),
		"shape [-1]":                  file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 0, 0, 0, 0),
		"lies at [2 6]":               file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}`, 0, 0, 0, 0),
		"lies at [0 2]":               file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,2]}}`, 0, 0, 0, 0),
		"lies at [-4 0]":              file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, 0, 0, 0, 0),
		"9 axes":                      file(`{"a":{"dtype":"I8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}}`, 0),
		"two tensors share the byte ": file(`{"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"I8","shape":[2],"data_offsets":[1,3]}}`, 0, 0, 0),
	} {
		if _, err := read(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestHalf(t *testing.T) {
	for h, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x0001: 5.9604645e-08, 0x7bff: 65504,
		0x8000: float32(math.Copysign(0, -1))} {
		if got := half(h); got != want {
			t.Errorf("half(%#x) = %v, want %v", h, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'})
	f.Add(file(`{"embeddings":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}`, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := read(raw)
		if err != nil {
			return
		}
		for name := range file.tensors {
			x, err := file.Tensor(name)
			if err != nil || len(x.data) > len(raw) {
				t.Fatalf("%s: %v", name, err)
			}
			if got, err := x.Floats(); err == nil && len(got) > len(raw) {
				t.Fatalf("%s: %d numbers of %d bytes", name, len(got), len(raw))
			}
			_, _ = x.Ints()
		}
	})
}
