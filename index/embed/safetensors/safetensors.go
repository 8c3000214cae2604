// Package safetensors reads tensors from a file in the safetensors format:
//
//	8 bytes, little-endian   length of the header
//	header                   JSON: name → {dtype, shape, data_offsets}, and __metadata__, which is ignored
//	data                     the tensors' numbers, little-endian, each tensor at its offsets
//
// The file is not trusted: it is at most 4 GiB, a header is at most 16 MiB and 65,536 tensors, and each tensor has to
// lie inside the data, be as long as its shape says and share no byte with another. No memory is allocated for a tensor
// before that is checked. Tensors are read on request.
package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
)

const (
	maxFile    = 4 << 30
	maxHeader  = 16 << 20
	maxTensors = 1 << 16
	maxAxes    = 8
)

// widths are the bytes of a number by dtype.
var widths = map[string]int64{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}

// A File is an opened file of tensors.
type File struct {
	whole   *io.SectionReader
	data    *io.SectionReader
	tensors map[string]place
	close   func() error
}

// A place says where a tensor lies, and its type and shape.
type place struct {
	Dtype   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// Open opens a file and reads its header. The caller closes it.
func Open(path string) (*File, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f, err := Read(r, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), r.Close())
	}
	f.close = r.Close
	return f, nil
}

// Close closes a file that Open opened.
func (f *File) Close() error { return f.close() }

// WriteTo writes the whole file, from which a fingerprint can be made.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, io.NewSectionReader(f.whole, 0, f.whole.Size()))
}

// Read reads the header of a file of size bytes. The File reads from r later.
func Read(r io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, errors.New("too short for a safetensors file")
	}
	if size > maxFile {
		return nil, fmt.Errorf("%d bytes, and %d are allowed", size, int64(maxFile))
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || n > uint64(size-8) {
		return nil, fmt.Errorf("a header of %d bytes: the file has %d and %d are allowed", n, size-8, maxHeader)
	}
	raw := make([]byte, n)
	if _, err := r.ReadAt(raw, 8); err != nil {
		return nil, err
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(raw, &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	delete(header, "__metadata__")
	if len(header) > maxTensors {
		return nil, fmt.Errorf("%d tensors: %d are allowed", len(header), maxTensors)
	}
	start := 8 + int64(n)
	f := &File{whole: io.NewSectionReader(r, 0, size), data: io.NewSectionReader(r, start, size-start),
		tensors: make(map[string]place, len(header))}
	for name, h := range header {
		var p place
		if err := json.Unmarshal(h, &p); err != nil {
			return nil, fmt.Errorf("tensor %.64q: %w", name, err)
		}
		if widths[p.Dtype] == 0 {
			continue // an unknown type: its length cannot be checked
		}
		if err := p.check(size - start); err != nil {
			return nil, fmt.Errorf("tensor %.64q: %w", name, err)
		}
		f.tensors[name] = p
	}
	return f, f.overlaps()
}

// check checks a tensor's place against its shape and the data.
func (p place) check(data int64) error {
	if len(p.Shape) > maxAxes {
		return fmt.Errorf("%d axes: %d are allowed", len(p.Shape), maxAxes)
	}
	size := widths[p.Dtype]
	for _, d := range p.Shape {
		if d < 0 || d > 0 && size > data/int64(d) {
			return fmt.Errorf("shape %v is larger than the file", p.Shape)
		}
		size *= int64(d)
	}
	if p.Offsets[0] < 0 || p.Offsets[0] > p.Offsets[1] || p.Offsets[1] > data || p.Offsets[1]-p.Offsets[0] != size {
		return fmt.Errorf("lies at %v, which is not its %d bytes inside the data's %d", p.Offsets, size, data)
	}
	return nil
}

// overlaps finds two tensors that share a byte.
func (f *File) overlaps() error {
	places := make([][2]int64, 0, len(f.tensors))
	for _, p := range f.tensors {
		if p.Offsets[0] < p.Offsets[1] {
			places = append(places, p.Offsets)
		}
	}
	slices.SortFunc(places, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(places); i++ {
		if places[i][0] < places[i-1][1] {
			return fmt.Errorf("two tensors share the byte at %d", places[i][0])
		}
	}
	return nil
}

// Shape returns a tensor's lengths by axis. The caller must not change it.
func (f *File) Shape(name string) (shape []int, ok bool) {
	p, ok := f.tensors[name]
	return p.Shape, ok
}

// A Tensor is numbers in the file's own representation.
type Tensor struct {
	dtype string
	data  []byte
}

// Tensor reads a tensor.
func (f *File) Tensor(name string) (*Tensor, error) {
	p, ok := f.tensors[name]
	if !ok {
		return nil, fmt.Errorf("no tensor %s", name)
	}
	t := &Tensor{dtype: p.Dtype, data: make([]byte, p.Offsets[1]-p.Offsets[0])}
	if _, err := f.data.ReadAt(t.data, p.Offsets[0]); err != nil && len(t.data) > 0 {
		return nil, fmt.Errorf("tensor %s: %w", name, err)
	}
	return t, nil
}

// Floats returns all numbers of a tensor of F64, F32, F16, BF16 or I8.
func (t *Tensor) Floats() ([]float32, error) {
	if err := t.Float(); err != nil {
		return nil, err
	}
	out := make([]float32, int64(len(t.data))/widths[t.dtype])
	t.decode(out, t.data)
	return out, nil
}

// Float returns an error for a tensor whose numbers Row and Floats cannot read.
func (t *Tensor) Float() error {
	switch t.dtype {
	case "F64", "F32", "F16", "BF16", "I8":
		return nil
	}
	return fmt.Errorf("numbers of kind %s: F64, F32, F16, BF16 or I8 are needed", t.dtype)
}

// Row decodes row i of a matrix whose numbers Float accepts into out, which is as long as a row.
func (t *Tensor) Row(i int, out []float32) {
	size := len(out) * int(widths[t.dtype])
	t.decode(out, t.data[i*size:(i+1)*size])
}

// decode reads len(out) numbers.
func (t *Tensor) decode(out []float32, d []byte) {
	le := binary.LittleEndian
	switch t.dtype {
	case "F64":
		for i := range out {
			out[i] = float32(math.Float64frombits(le.Uint64(d[8*i:])))
		}
	case "F32":
		for i := range out {
			out[i] = math.Float32frombits(le.Uint32(d[4*i:]))
		}
	case "BF16":
		for i := range out {
			out[i] = math.Float32frombits(uint32(le.Uint16(d[2*i:])) << 16)
		}
	case "F16":
		for i := range out {
			out[i] = half(le.Uint16(d[2*i:]))
		}
	case "I8":
		for i := range out {
			out[i] = float32(int8(d[i]))
		}
	}
}

// Ints returns all numbers of a tensor of I32 or I64. A number beyond 32 bits is an error.
func (t *Tensor) Ints() (out []int32, err error) {
	switch t.dtype {
	case "I32":
		out = make([]int32, len(t.data)/4)
		for i := range out {
			out[i] = int32(binary.LittleEndian.Uint32(t.data[4*i:]))
		}
	case "I64":
		out = make([]int32, len(t.data)/8)
		for i := range out {
			x := int64(binary.LittleEndian.Uint64(t.data[8*i:]))
			if out[i] = int32(x); int64(out[i]) != x {
				return nil, fmt.Errorf("%d is beyond 32 bits", x)
			}
		}
	default:
		return nil, fmt.Errorf("numbers of kind %s: I32 or I64 are needed", t.dtype)
	}
	return out, nil
}

// half returns an IEEE 754 number of 16 bits.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0: // subnormal: frac · 2^-24
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(f))
	case 31:
		return math.Float32frombits(sign | 255<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
