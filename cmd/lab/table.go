package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// How a table is trained.
const (
	tableWords  = 40_000 // the most frequent ones that stand twice at least
	tableWindow = 6      // words to either side that are seen together with one
	tableSpare  = 16     // columns beside the wanted ones, for exactness
	tableRounds = 3      // of the power iteration
	tableSmooth = 1e-3   // a word of this frequency counts half of a rare one
)

// trainTable makes a model for recall.
func trainTable(a *cli.Streams) *cobra.Command {
	var text []string
	var out string
	var dim int
	c := &cobra.Command{Use: "table", Short: "Train a small table of word vectors on text, for recall --embedder static:DIR",
		Args: cobra.NoArgs,
		Long: `Trains a table of word vectors on lines of text, and writes it as a directory that the static embedder reads. It stands for a weak
model where there is none to be had: words are like each other when they stand beside the same words (positive pointwise mutual
information, reduced to --dim columns). The same text gives the same table.`,
		Example: `  go run ./cmd/lab table --text glosses.txt --out /tmp/table
  go run ./cmd/lab recall --corpus F --queries F --embedder static:/tmp/table`,
		RunE: func(c *cobra.Command, _ []string) error {
			if len(text) == 0 || out == "" || dim < 8 || dim > 1024 {
				return cli.Usage(errors.New("table needs --text and --out, and a --dim of 8 to 1024"))
			}
			var lines [][]string
			for _, path := range text {
				more, err := wordsOfLines(path)
				if err != nil {
					return err
				}
				lines = append(lines, more...)
			}
			words, pairs := countPairs(lines)
			if len(words) < dim {
				return fmt.Errorf("%d words stand twice in the text, too few for %d dimensions", len(words), dim)
			}
			fmt.Fprintf(a.Err, "%d words, %d pairs\n", len(words), len(pairs.column))
			columns, err := pairs.reduce(c.Context(), dim)
			if err != nil {
				return err
			}
			return writeTable(out, words, columns)
		}}
	c.Flags().StringArrayVar(&text, "text", nil, "a file of text, a passage a line; may be repeated")
	c.Flags().StringVar(&out, "out", "", "the directory to write")
	c.Flags().IntVar(&dim, "dim", 256, "dimensions")
	return c
}

// wordsOfLines are the lower-cased words of each line.
func wordsOfLines(path string) (lines [][]string, _ error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	for in.Buffer(nil, 1<<20); in.Scan(); {
		words := strings.FieldsFunc(strings.ToLower(in.Text()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		lines = append(lines, words)
	}
	return lines, in.Err()
}

// A counted word, and the share of all words that it is.
type counted struct {
	word  string
	share float64
}

// A sparse matrix: row i has the values at[i] to at[i+1], each in its column.
type sparse struct {
	at     []int
	column []int32
	value  []float64
}

// countPairs returns the words, the most frequent first, and how much more often than by chance each stands near each
// other.
func countPairs(lines [][]string) ([]counted, *sparse) {
	counts, total := map[string]int{}, 0
	for _, l := range lines {
		for _, w := range l {
			counts[w]++
			total++
		}
	}
	var words []counted
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		if counts[w] >= 2 {
			words = append(words, counted{w, float64(counts[w]) / float64(total)})
		}
	}
	slices.SortStableFunc(words, func(a, b counted) int { return cmp.Compare(b.share, a.share) })
	words = words[:min(len(words), tableWords)]
	number := make(map[string]int32, len(words))
	for i, w := range words {
		number[w.word] = int32(i)
	}
	near := map[[2]int32]float64{}
	for _, l := range lines {
		for i, w := range l {
			row, known := number[w]
			for by := 1; known && by <= tableWindow && i+by < len(l); by++ {
				if c, ok := number[l[i+by]]; ok {
					near[[2]int32{row, c}] += 1 / float64(by)
					near[[2]int32{c, row}] += 1 / float64(by)
				}
			}
		}
	}
	return words, information(near, len(words))
}

// information turns counts of pairs of n words into their positive pointwise mutual information. Rare neighbours are
// smoothed by a power of .75. Pairs are taken in order, so that sums of the same text are the same.
func information(near map[[2]int32]float64, n int) *sparse {
	pairs := slices.SortedFunc(maps.Keys(near), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	mass, smooth := make([]float64, n), 0.0
	for _, p := range pairs {
		mass[p[0]] += near[p]
	}
	for _, m := range mass {
		smooth += math.Pow(m, .75)
	}
	m := &sparse{at: make([]int, n+1)}
	for _, p := range pairs {
		if v := math.Log(near[p] * smooth / (mass[p[0]] * math.Pow(mass[p[1]], .75))); v > 0 {
			m.column, m.value = append(m.column, p[1]), append(m.value, v)
		}
		m.at[p[0]+1] = len(m.column)
	}
	for i := range n {
		m.at[i+1] = max(m.at[i+1], m.at[i]) // a word without neighbours has an empty row
	}
	return m
}

// times multiplies by a dense matrix of as many columns.
func (m *sparse) times(x [][]float64) [][]float64 {
	out := make([][]float64, len(m.at)-1)
	for i := range out {
		out[i] = make([]float64, len(x[0]))
		for k := m.at[i]; k < m.at[i+1]; k++ {
			for j, v := range x[m.column[k]] {
				out[i][j] += m.value[k] * v
			}
		}
	}
	return out
}

// reduce finds the strongest directions of the symmetric matrix by the power iteration, and gives each word its place
// on them, weighed by the root of their strength.
func (m *sparse) reduce(ctx context.Context, dim int) ([][]float64, error) {
	rng := rand.New(rand.NewPCG(3, 9))
	x := make([][]float64, len(m.at)-1)
	for i := range x {
		x[i] = make([]float64, min(dim+tableSpare, len(x)))
		for j := range x[i] {
			x[i][j] = rng.NormFloat64()
		}
	}
	var strength []float64
	for range tableRounds + 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x = m.times(x)
		strength = orthonormal(x)
	}
	order := make([]int, len(strength))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(strength[b], strength[a]) })
	out := make([][]float64, len(x))
	for i := range x {
		for _, j := range order[:dim] {
			out[i] = append(out[i], x[i][j]*math.Sqrt(strength[j]))
		}
	}
	return out, nil
}

// orthonormal makes the columns orthogonal and of length 1, and returns the lengths that they had.
func orthonormal(x [][]float64) []float64 {
	lengths := make([]float64, len(x[0]))
	for j := range lengths {
		for range 2 { // once leaves what rounding puts back
			along := make([]float64, j)
			for _, row := range x {
				for k := range along {
					along[k] += row[k] * row[j]
				}
			}
			for _, row := range x {
				for k, s := range along {
					row[j] -= s * row[k]
				}
			}
		}
		for _, row := range x {
			lengths[j] += row[j] * row[j]
		}
		lengths[j] = math.Sqrt(lengths[j])
		for _, row := range x {
			row[j] /= max(lengths[j], 1e-12)
		}
	}
	return lengths
}

// writeTable writes a directory that embed.OpenStatic reads: token 0 is the unknown one. Frequent words count less in a
// mean.
func writeTable(dir string, words []counted, columns [][]float64) error {
	dim := len(columns[0])
	vocab := map[string]int{"[UNK]": 0}
	data := make([]byte, 4*dim, 4*dim*(len(words)+1))
	for i, w := range words {
		vocab[w.word] = i + 1
		for _, v := range columns[i] {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v*tableSmooth/(tableSmooth+w.share))))
		}
	}
	header, err := json.Marshal(map[string]any{"embeddings": map[string]any{"dtype": "F32",
		"shape": []int{len(words) + 1, dim}, "data_offsets": []int{0, len(data)}}})
	if err != nil {
		return err
	}
	tokens, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
			"strip_accents": false, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model": map[string]any{"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]",
			"continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	model := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "model.safetensors"), append(model, data...), 0o644),
		os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokens, 0o644),
		os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"normalize":true}`), 0o644))
}
