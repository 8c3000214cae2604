package bert

import (
	"context"
	"math"
	"slices"
)

// A space holds the buffers that the computation of some texts needs. The next computation uses it again.
type space struct {
	x, qkv, attended, inner []float32 // a row a token
	keys, values, scores    []float32 // of one head of one text
	tail                    []float32
	tile                    [tileRows * tileCols]float32
}

// grow returns n numbers, of any value, kept in s.
func grow(s *[]float32, n int) []float32 {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// forward computes the vectors of texts, each a list of tokens. The texts lie one after the other in the buffers; only
// attention treats them separately.
func (m *Model) forward(ctx context.Context, s *space, texts [][]int) ([][]float32, error) {
	rows := 0
	for _, t := range texts {
		rows += len(t)
	}
	h, w := m.shape.Hidden, m.weights
	x := grow(&s.x, rows*h)
	at := 0
	for _, t := range texts {
		for i, id := range t {
			row := x[at*h:][:h]
			w.words.Row(id, row)
			for k, p := range w.positions[(i+m.shape.offset)*h:][:h] {
				row[k] += p
			}
			at++
		}
	}
	w.norm.apply(x, *m.shape.Epsilon)
	for i := range w.layers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.layer(s, &w.layers[i], x, texts)
	}
	out := make([][]float32, len(texts))
	at = 0
	for i, t := range texts {
		out[i] = m.pool(x[at*h : (at+len(t))*h])
		at += len(t)
	}
	return out, nil
}

func (m *Model) layer(s *space, l *layer, x []float32, texts [][]int) {
	h := m.shape.Hidden
	rows := len(x) / h
	qkv := grow(&s.qkv, 3*len(x))
	l.qkv.fill(qkv)
	s.multiply(m.kernels, x, h, rows, l.qkv.panels, qkv, 3*h)

	attended := grow(&s.attended, len(x))
	clear(attended)
	at := 0
	for _, t := range texts {
		m.attend(s, qkv[at*3*h:(at+len(t))*3*h], attended[at*h:(at+len(t))*h])
		at += len(t)
	}
	l.out.add(x)
	s.multiply(m.kernels, attended, h, rows, l.out.panels, x, h)
	l.attended.apply(x, *m.shape.Epsilon)

	inner := grow(&s.inner, rows*m.shape.Inner)
	l.up.fill(inner)
	s.multiply(m.kernels, x, h, rows, l.up.panels, inner, m.shape.Inner)
	m.kernels.gelu(inner)
	l.down.add(x)
	s.multiply(m.kernels, inner, m.shape.Inner, rows, l.down.panels, x, h)
	l.done.apply(x, *m.shape.Epsilon)
}

// fill makes every row the bias.
func (l *linear) fill(x []float32) {
	for ; len(x) > 0; x = x[len(l.bias):] {
		copy(x, l.bias)
	}
}

// add adds the bias to every row.
func (l *linear) add(x []float32) {
	for ; len(x) > 0; x = x[len(l.bias):] {
		for i, b := range l.bias {
			x[i] += b
		}
	}
}

// attend adds the attention of a text's tokens to each row of out, head by head. qkv holds a row of queries, keys and
// values for each token.
func (m *Model) attend(s *space, qkv, out []float32) {
	h := m.shape.Hidden
	n, d := len(out)/h, h/m.shape.Heads
	wide := (n + tileCols - 1) / tileCols * tileCols
	scale := float32(1 / math.Sqrt(float64(d)))
	for head := 0; head < h; head += d {
		keys := panels{k: d, data: grow(&s.keys, d*wide)}
		clear(keys.data)
		values := panels{k: n, data: grow(&s.values, d*n)}
		for i := range n {
			row := qkv[i*3*h+head:]
			at := i/tileCols*d*tileCols + i%tileCols
			for k, x := range row[h:][:d] {
				keys.data[at+k*tileCols] = x
			}
			for k := 0; k < d; k += tileCols {
				copy(values.data[k*n+i*tileCols:][:tileCols], row[2*h+k:])
			}
		}
		scores := grow(&s.scores, n*wide)
		clear(scores)
		s.multiply(m.kernels, qkv[head:], 3*h, n, keys, scores, wide)
		for i := range n {
			row := scores[i*wide:][:wide]
			most := slices.Max(row[:n])
			for j := n; j < wide; j++ {
				row[j] = float32(math.Inf(-1))
			}
			by := 1 / m.kernels.exp(row, scale, scale*most)
			for j := range row[:n] {
				row[j] *= by
			}
		}
		s.multiply(m.kernels, scores, wide, n, values, out[head:], h)
	}
}

// pool makes the vector of a text from those of its tokens; nil when it has no direction.
func (m *Model) pool(x []float32) []float32 {
	h := m.shape.Hidden
	sum := make([]float64, h)
	rows := len(x) / h
	if m.recipe.CLS {
		rows = 1
	}
	for ; len(x) > 0; x = x[h:] {
		for k, v := range x[:h] {
			sum[k] += float64(v)
		}
		if m.recipe.CLS {
			break
		}
	}
	var length float64
	for k := range sum {
		sum[k] /= float64(rows)
		length += float64(sum[k] * sum[k])
	}
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil
	}
	by := 1.0
	if m.recipe.Normalise {
		by = 1 / math.Sqrt(length)
	}
	out := make([]float32, h)
	for k, v := range sum {
		out[k] = float32(v * by)
	}
	return out
}
