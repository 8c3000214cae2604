package bert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index/embed/bert/berttest"
	"github.com/cairndb/cairn/oplog/suite"
)

var update = flag.Bool("update", false, "write testdata/reference.txt anew from what numpy computes")

// samples returns a model of each supported kind.
func samples(t testing.TB) []*berttest.Model {
	t.Helper()
	file := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join("..", "tokenizer", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	mean, cls, roberta := berttest.Small(), berttest.Small(), berttest.Small()
	mean.Tokenizer, cls.Tokenizer, roberta.Tokenizer = file("wordpiece.json"), file("wordpiece.json"), file("unigram.json")
	cls.Dtype, cls.Prefix, cls.CLS = "F16", "bert.", true
	roberta.Dtype, roberta.Modules = "BF16", roberta.Modules[:2]
	roberta.Type, roberta.Pad, roberta.Types, roberta.Epsilon = "xlm-roberta", 1, 1, 1e-5
	return []*berttest.Model{mean, cls, roberta}
}

// transcripts holds the file of each sample tokenizer's transcript.
var transcripts = []string{"wordpiece.txt", "wordpiece.txt", "unigram.txt"}

// encoded is a text with its tokens, as another implementation of the tokenizer returned them.
type encoded struct {
	text   string
	tokens []int
}

// examples returns texts of a tokenizer's transcript, and a long text that is cut.
func examples(t testing.TB, m *Model, transcript string) (out []encoded) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "tokenizer", "testdata", transcript))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	around := func(tokens []int) []int {
		if strings.HasPrefix(transcript, "wordpiece") { // has them
			tokens = tokens[1 : len(tokens)-1]
		}
		return slices.Concat(m.tokens.Start, tokens[:min(len(tokens), m.maxTextTokens())], m.tokens.End)
	}
	for s := bufio.NewScanner(f); s.Scan() && len(out) < 16; {
		var e encoded
		if err := json.Unmarshal(s.Bytes(), &[]any{&e.text, &e.tokens}); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(e.text) == "" {
			continue
		}
		e.tokens = around(e.tokens)
		out = append(out, e)
	}
	first := out[0]
	inner := first.tokens[1 : len(first.tokens)-1]
	long := encoded{strings.Repeat(first.text+" ", 40), slices.Concat(m.tokens.Start, slices.Repeat(inner, 40)[:m.maxTextTokens()], m.tokens.End)}
	return append(out, long)
}

// numpy returns a Python that has numpy, or an empty string.
func numpy() string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import numpy").Run() == nil {
			return python
		}
	}
	return ""
}

// TestReference compares vectors with the recorded output of testdata/reference.py, which computes with numpy, and
// with its current output if there is a Python with numpy.
func TestReference(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	var dirs []string
	var texts [][]string
	var models []*Model
	for i, s := range samples(t) {
		dir := s.Write(t)
		m, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var tokens [][]int
		var list []string
		for _, e := range examples(t, m, transcripts[i]) {
			tokens, list = append(tokens, e.tokens), append(list, e.text)
		}
		raw, err := json.Marshal(tokens)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tokens.json"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		dirs, texts, models = append(dirs, dir), append(texts, list), append(models, m)
	}
	compare := func(t *testing.T, transcript []byte) {
		lines := bytes.Split(bytes.TrimSpace(transcript), []byte("\n"))
		if len(lines) != len(models) {
			t.Fatalf("%d lines for %d models", len(lines), len(models))
		}
		for i, m := range models {
			var want [][]float64
			if err := json.Unmarshal(lines[i], &want); err != nil {
				t.Fatal(err)
			}
			for _, k := range []kernels{fastest(), portable} {
				m.kernels = &k
				got, err := m.Texts(t.Context(), texts[i])
				if err != nil {
					t.Fatal(err)
				}
				if len(got) != len(want) {
					t.Fatalf("%d vectors, want %d", len(got), len(want))
				}
				for j := range want {
					if d := distance(got[j], want[j]); d > 1e-4 {
						t.Errorf("model %d, %s, %q: a distance of %g", i, k.name, texts[i][j], d)
					}
				}
			}
		}
	}
	t.Run("transcript", func(t *testing.T) {
		raw, err := os.ReadFile("testdata/reference.txt")
		if err != nil {
			t.Fatal(err)
		}
		compare(t, raw)
	})
	t.Run("numpy", func(t *testing.T) {
		python := numpy()
		if python == "" {
			t.Skip("no python3 with numpy here: the transcript alone was compared with")
		}
		out, err := exec.Command(python, append([]string{"testdata/reference.py"}, dirs...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		compare(t, out)
		if *update {
			if err := os.WriteFile("testdata/reference.txt", out, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// distance returns the largest difference between the numbers of two vectors.
func distance[T float32 | float64](got []float32, want []T) (most float64) {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	for i, x := range got {
		if d := math.Abs(float64(x) - float64(want[i])); d > most || d != d {
			most = d
		}
	}
	return most
}

// TestAlone checks that a text's vector has the same bits alone, in batches of other sizes, and from many goroutines
// at once.
func TestAlone(t *testing.T) {
	t.Parallel()
	for i, s := range samples(t) {
		m, err := Open(s.Write(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for n, e := range examples(t, m, transcripts[i]) {
			texts = append(texts, e.text, strings.Repeat("the cat ", n+1))
		}
		var alone [][]float32
		for _, text := range texts {
			v, err := m.Texts(t.Context(), []string{text})
			if err != nil || len(v[0]) != m.Dim() {
				t.Fatalf("%q: %d numbers, %v", text, len(v[0]), err)
			}
			alone = append(alone, v[0])
		}
		for size := 2; size <= len(texts); size += 5 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for at := 0; at < len(texts); at += size {
					end := min(at+size, len(texts))
					vecs, err := m.Texts(t.Context(), texts[at:end])
					if err != nil {
						t.Fatal(err)
					}
					for i, v := range vecs {
						if !slices.Equal(v, alone[at+i]) {
							t.Errorf("%q among %d: another vector than alone", texts[at+i], size)
						}
					}
				}
			})
		}
	}
}

// TestKernels checks that the portable inner loops and those of this processor give nearly the same vectors.
func TestKernels(t *testing.T) {
	t.Parallel()
	if fastest().name == portable.name {
		t.Skip("this processor has the portable loops alone")
	}
	for i, s := range samples(t) {
		m, err := Open(s.Write(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{"the cat sleeps", strings.Repeat("the dog runs in the attic ", 12)}
		fast, err := m.Texts(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		m.kernels = &portable
		slow, err := m.Texts(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for k := range texts {
			if d := distance(fast[k], slow[k]); d > 1e-5 {
				t.Errorf("model %d, %q: %s and portable differ by %g", i, texts[k], fastest().name, d)
			}
		}
	}
}

// TestFunctions compares the approximations of functions with package math.
func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, k := range []kernels{fastest(), portable} {
		var x, y []float32
		for v := float32(-12); v < 12; v += 1. / 256 {
			x, y = append(x, v), append(y, v)
		}
		k.gelu(x)
		for i, v := range y {
			want := float64(v) / 2 * math.Erfc(-float64(v)/math.Sqrt2)
			if d := math.Abs(float64(x[i]) - want); d > 1e-6+1e-6*math.Abs(want) {
				t.Errorf("%s: gelu(%g) = %g, want %g", k.name, v, x[i], want)
			}
		}
		copy(x, y)
		sum := k.exp(x, 2, 24)
		var all float64
		for i, v := range y {
			want := math.Exp(2*float64(v) - 24)
			all += want
			if d := math.Abs(float64(x[i]) - want); d > 1e-6*want {
				t.Errorf("%s: exp(%g) = %g, want %g", k.name, 2*v-24, x[i], want)
			}
		}
		if math.Abs(float64(sum)/all-1) > 1e-5 {
			t.Errorf("%s: the exponentials add up to %g, want %g", k.name, sum, all)
		}
	}
}

// TestInt8 checks that a word table in 8 bits gives nearly the same vectors, but does not count as the same model.
func TestInt8(t *testing.T) {
	t.Parallel()
	for i, s := range samples(t) {
		dir := s.Write(t)
		whole, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		small, err := Open(dir, Options{Int8: true})
		if err != nil {
			t.Fatal(err)
		}
		if whole.Fingerprint() == small.Fingerprint() {
			t.Errorf("model %d: the fingerprints are equal", i)
		}
		texts := []string{"the cat sleeps", "the dog runs in the attic 12"}
		want, err := whole.Texts(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		got, err := small.Texts(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for k := range texts {
			var product, a, b float64
			for j, x := range got[k] {
				y := want[k][j]
				product, a, b = product+float64(x)*float64(y), a+float64(x)*float64(x), b+float64(y)*float64(y)
			}
			if cosine := product / math.Sqrt(a*b); cosine < .999 || distance(got[k], want[k]) == 0 {
				t.Errorf("model %d, %q: a cosine of %g", i, texts[k], cosine)
			}
		}
	}
}

// BenchmarkMiniLM embeds a text of 16 tokens, plus its two special ones, on one core with a model of the size of
// MiniLM-L6 (22.7 million numbers).
func BenchmarkMiniLM(b *testing.B) {
	s := samples(b)[0]
	s.Config = berttest.Config{Type: "bert", Hidden: 384, Layers: 6, Heads: 12, Inner: 1536, Vocab: 30522, Positions: 512,
		Types: 2, Act: "gelu"}
	m, err := Open(s.Write(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range []kernels{fastest(), portable} {
		for name, texts := range map[string][]string{
			"16tokens":    {strings.Repeat("cat dog ", 8)},
			"128tokens":   {strings.Repeat("cat dog ", 64)},
			"512tokens":   {strings.Repeat("cat dog ", 256)},
			"64x16tokens": slices.Repeat([]string{strings.Repeat("cat dog ", 8)}, 64),
		} {
			if k.name == portable.name && name != "16tokens" {
				continue
			}
			b.Run(k.name+"/"+name, func(b *testing.B) {
				m.kernels, m.slots = &k, make(chan struct{}, 1)
				for b.Loop() {
					if _, err := m.Texts(b.Context(), texts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
