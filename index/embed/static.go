package embed

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

const (
	maxModel  = 4 << 30 // bytes of a model file
	maxIDs    = 512     // tokens of a text that count
	maxHeader = 64 << 20
)

// Static looks tokens up in a table and takes their mean.
type Static struct {
	identity  Identity
	tokens    *wordPiece
	table     []float32 // rows of dim
	dim, rows int
	weights   []float32 // by token; nil for 1
	mapping   []int32   // token → row; nil for itself
	normalise bool
}

// OpenStatic reads a model2vec directory, or one that has it in 0_StaticEmbedding.
func OpenStatic(dir string) (*Static, error) {
	if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); errors.Is(err, os.ErrNotExist) {
		dir = filepath.Join(dir, "0_StaticEmbedding")
	}
	model, err := readCapped(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, fmt.Errorf("static embedder: %w", err)
	}
	tokenizer, err := readCapped(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, fmt.Errorf("static embedder: %w", err)
	}
	s := &Static{normalise: true}
	if raw, err := readCapped(filepath.Join(dir, "config.json")); err == nil {
		var c struct {
			Normalize *bool `json:"normalize"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("static embedder: config.json: %w", err)
		}
		s.normalise = c.Normalize == nil || *c.Normalize
	}
	if s.tokens, err = newWordPiece(tokenizer); err != nil {
		return nil, fmt.Errorf("static embedder: tokenizer.json: %w", err)
	}
	if err := s.load(model); err != nil {
		return nil, fmt.Errorf("static embedder: model.safetensors: %w", err)
	}
	h := sha256.New()
	h.Write(model)
	h.Write(tokenizer)
	s.identity = Identity{"static", hex.EncodeToString(h.Sum(nil)[:8]), s.dim}
	return s, nil
}

func readCapped(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxModel {
		return nil, fmt.Errorf("%s: %d bytes are more than a model has", path, info.Size())
	}
	return os.ReadFile(path)
}

// load takes the tensors it knows.
func (s *Static) load(raw []byte) error {
	t, err := parseTensors(raw)
	if err != nil {
		return err
	}
	e, ok := t["embeddings"]
	if !ok {
		if e, ok = t["embedding.weight"]; !ok {
			return errors.New("no tensor embeddings or embedding.weight")
		}
	}
	if len(e.shape) != 2 || e.shape[0] < 1 {
		return fmt.Errorf("embeddings of shape %v", e.shape)
	}
	s.rows, s.dim = e.shape[0], e.shape[1]
	if err := checkDim(s.dim); err != nil {
		return err
	}
	if s.table, err = e.floats(); err != nil {
		return err
	}
	if w, ok := t["weights"]; ok {
		if s.weights, err = w.floats(); err != nil {
			return err
		}
	}
	if m, ok := t["mapping"]; ok {
		if s.mapping, err = m.ints(); err != nil {
			return err
		}
	}
	return nil
}

// Identity implements Embedder.
func (s *Static) Identity() Identity { return s.identity }

// Embed implements Embedder.
func (s *Static) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = s.one(t)
	}
	return out, nil
}

func (s *Static) one(text string) []float32 {
	sum := make([]float64, s.dim)
	var n float64
	for _, id := range s.tokens.encode(text, maxIDs) {
		row, weight := id, 1.0
		if s.mapping != nil {
			if id >= len(s.mapping) {
				continue
			}
			row = int(s.mapping[id])
		}
		if row < 0 || row >= s.rows {
			continue
		}
		if id < len(s.weights) {
			weight = float64(s.weights[id])
		}
		for k, x := range s.table[row*s.dim : (row+1)*s.dim] {
			sum[k] += float64(weight * float64(x))
		}
		n++
	}
	var length float64
	for k := range sum {
		if n > 0 {
			sum[k] /= n
		}
		length += float64(sum[k] * sum[k])
	}
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil
	}
	scale := 1.0
	if s.normalise {
		scale = math.Sqrt(length)
	}
	v := make([]float32, s.dim)
	for k, x := range sum {
		v[k] = float32(x / scale)
	}
	return v
}

// A tensor is a piece of a safetensors file.
type tensor struct {
	dtype string
	shape []int
	data  []byte
}

// parseTensors reads a safetensors file: eight bytes of header length, little-endian, a JSON header, then the data.
func parseTensors(raw []byte) (map[string]tensor, error) {
	if len(raw) < 8 {
		return nil, errors.New("too short")
	}
	n := binary.LittleEndian.Uint64(raw)
	if n > maxHeader || n > uint64(len(raw)-8) {
		return nil, errors.New("the header is longer than the file")
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(raw[8:8+n], &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	data := raw[8+n:]
	out := map[string]tensor{}
	for name, h := range header {
		if name == "__metadata__" {
			continue
		}
		var t struct {
			Dtype   string    `json:"dtype"`
			Shape   []int     `json:"shape"`
			Offsets [2]uint64 `json:"data_offsets"`
		}
		if err := json.Unmarshal(h, &t); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		size := uint64(map[string]int{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I32": 4, "I64": 8}[t.Dtype])
		if size == 0 {
			continue // of a kind that nothing here needs
		}
		for _, d := range t.Shape {
			if d < 0 || d > 0 && size > uint64(len(data))/uint64(d)+1 {
				return nil, fmt.Errorf("tensor %s: larger than the file", name)
			}
			size *= uint64(d)
		}
		if t.Offsets[0] > t.Offsets[1] || t.Offsets[1] > uint64(len(data)) || t.Offsets[1]-t.Offsets[0] != size {
			return nil, fmt.Errorf("tensor %s: its place is not its size", name)
		}
		out[name] = tensor{t.Dtype, t.Shape, data[t.Offsets[0]:t.Offsets[1]]}
	}
	return out, nil
}

func (t tensor) floats() ([]float32, error) {
	var out []float32
	d, le := t.data, binary.LittleEndian
	switch t.dtype {
	case "F64":
		for ; len(d) >= 8; d = d[8:] {
			out = append(out, float32(math.Float64frombits(le.Uint64(d))))
		}
	case "F32":
		for ; len(d) >= 4; d = d[4:] {
			out = append(out, math.Float32frombits(le.Uint32(d)))
		}
	case "BF16":
		for ; len(d) >= 2; d = d[2:] {
			out = append(out, math.Float32frombits(uint32(le.Uint16(d))<<16))
		}
	case "F16":
		for ; len(d) >= 2; d = d[2:] {
			out = append(out, half(le.Uint16(d)))
		}
	case "I8":
		for _, b := range d {
			out = append(out, float32(int8(b)))
		}
	default:
		return nil, fmt.Errorf("numbers of kind %s", t.dtype)
	}
	return out, nil
}

func (t tensor) ints() (out []int32, err error) {
	d := t.data
	switch t.dtype {
	case "I32":
		for ; len(d) >= 4; d = d[4:] {
			out = append(out, int32(binary.LittleEndian.Uint32(d)))
		}
	case "I64":
		for ; len(d) >= 8; d = d[8:] {
			out = append(out, int32(binary.LittleEndian.Uint64(d)))
		}
	default:
		return nil, fmt.Errorf("a mapping of kind %s", t.dtype)
	}
	return out, nil
}

// half is an IEEE 754 number of 16 bits.
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
