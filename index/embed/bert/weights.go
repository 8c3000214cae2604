package bert

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairndb/cairn/index/embed/safetensors"
)

// weights holds a model's numbers. The table of words stays as the file has it.
type weights struct {
	words     table
	positions []float32 // rows, with the vector of the first token type added
	norm      norm
	layers    []layer
}

type layer struct {
	qkv, out, up, down linear
	attended, done     norm
}

// A linear is a matrix and the bias that is added to each row of the product.
type linear struct {
	panels
	bias []float32
}

// A norm is the scale and the shift behind a normalization.
type norm struct{ scale, shift []float32 }

// A loader reads the tensors of a model and remembers the first error.
type loader struct {
	file   *safetensors.File
	prefix string
	err    error
}

func load(f *safetensors.File, s *shape, o Options) (*weights, error) {
	l := &loader{file: f}
	for _, prefix := range []string{"", s.Type + ".", "bert.", "roberta."} {
		if _, ok := f.Shape(prefix + "embeddings.word_embeddings.weight"); ok {
			l.prefix = prefix
			break
		}
	}
	w := &weights{}
	if words := l.tensor("embeddings.word_embeddings.weight", s.Vocab, s.Hidden); words != nil {
		if w.words = words; o.Int8 {
			w.words = quantize(words, s.Vocab, s.Hidden)
		}
	}
	w.positions = l.floats("embeddings.position_embeddings.weight", s.Positions, s.Hidden)
	types := l.floats("embeddings.token_type_embeddings.weight", s.Types, s.Hidden)
	w.norm = l.norm("embeddings.LayerNorm", s.Hidden)
	if l.err != nil {
		return nil, l.err
	}
	for i := range w.positions {
		w.positions[i] += types[i%s.Hidden]
	}
	for i := range s.Layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		w.layers = append(w.layers, layer{
			qkv:      l.linear(s.Hidden, s.Hidden, at+"attention.self.query", at+"attention.self.key", at+"attention.self.value"),
			out:      l.linear(s.Hidden, s.Hidden, at+"attention.output.dense"),
			attended: l.norm(at+"attention.output.LayerNorm", s.Hidden),
			up:       l.linear(s.Hidden, s.Inner, at+"intermediate.dense"),
			down:     l.linear(s.Inner, s.Hidden, at+"output.dense"),
			done:     l.norm(at+"output.LayerNorm", s.Hidden),
		})
		if l.err != nil {
			return nil, l.err
		}
	}
	return w, nil
}

// tensor reads a tensor of the given shape whose numbers can be decoded.
func (l *loader) tensor(name string, shape ...int) *safetensors.Tensor {
	if l.err != nil {
		return nil
	}
	got, ok := l.file.Shape(l.prefix + name)
	if !ok {
		l.err = fmt.Errorf("no tensor %s", l.prefix+name)
		return nil
	}
	if !slices.Equal(got, shape) {
		l.err = fmt.Errorf("tensor %s has the shape %v, and config.json needs %v", l.prefix+name, got, shape)
		return nil
	}
	t, err := l.file.Tensor(l.prefix + name)
	if err == nil {
		err = t.Float()
	}
	if err != nil {
		l.err = fmt.Errorf("tensor %s: %w", l.prefix+name, err)
		return nil
	}
	return t
}

var errFinite = errors.New("a number that is not finite")

func (l *loader) floats(name string, shape ...int) []float32 {
	t := l.tensor(name, shape...)
	if t == nil {
		return nil
	}
	out, err := t.Floats()
	for _, x := range out {
		if x-x != 0 {
			err = errFinite
		}
	}
	if err != nil {
		l.err = fmt.Errorf("tensor %s: %w", l.prefix+name, err)
	}
	return out
}

func (l *loader) norm(name string, n int) norm {
	return norm{l.floats(name+".weight", n), l.floats(name+".bias", n)}
}

// linear reads matrices of out rows of in numbers, as the file has them, and lays them side by side in panels.
func (l *loader) linear(in, out int, names ...string) (w linear) {
	w.panels = panels{k: in, data: make([]float32, 0, in*out*len(names))}
	for _, name := range names {
		m := l.floats(name+".weight", out, in)
		w.bias = append(w.bias, l.floats(name+".bias", out)...)
		if l.err != nil {
			return w
		}
		for col := 0; col < out; col += tileCols {
			for k := range in {
				for j := range tileCols {
					w.data = append(w.data, m[(col+j)*in+k])
				}
			}
		}
	}
	return w
}

// apply normalizes each row, then scales and shifts it.
func (n norm) apply(x []float32, epsilon float64) {
	for width := len(n.scale); len(x) > 0; x = x[width:] {
		row := x[:width]
		var sum, squares float64
		for _, v := range row {
			sum += float64(v)
		}
		mean := sum / float64(width)
		for _, v := range row {
			d := float64(v) - mean
			squares += d * d
		}
		scale := 1 / math.Sqrt(squares/float64(width)+epsilon)
		for i, v := range row {
			row[i] = float32((float64(v)-mean)*scale)*n.scale[i] + n.shift[i]
		}
	}
}
