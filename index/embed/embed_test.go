package embed

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/embed/bert/berttest"
)

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestHashed(t *testing.T) {
	h, err := NewHashed(0)
	if err != nil {
		t.Fatal(err)
	}
	vecs, err := h.Embed(t.Context(),
		[]string{"the violin is in the attic", "violins in an attic", "quarterly tax report", "", "the violin is in the attic"})
	if err != nil {
		t.Fatal(err)
	}
	if near, far := cosine(vecs[0], vecs[1]), cosine(vecs[0], vecs[2]); near < far+.3 {
		t.Errorf("near %.2f, far %.2f", near, far)
	}
	if vecs[3] != nil || !slices.Equal(vecs[0], vecs[4]) || math.Abs(cosine(vecs[0], vecs[0])-1) > 1e-6 {
		t.Error("an empty text has a vector, the same text another, or a length is not 1")
	}
	// The version is for ever: these features may change only together with it.
	var sum float64
	for i, x := range vecs[0] {
		sum += float64(x) * float64(i%7+1)
	}
	if got, want := math.Round(sum*1e6)/1e6, goldenHashed; got != want {
		t.Errorf("version %s makes %v, want %v", hashedVersion, got, want)
	}
}

// model writes a small model2vec directory, in which each word and its "##s" form have their own vectors.
func model(t *testing.T, edit func(tok map[string]any)) string {
	t.Helper()
	dir := t.TempDir()
	vocab := map[string]int{"[UNK]": 0, "cat": 1, "##s": 2, "dog": 3, "!": 4, "東": 5}
	tok := map[string]any{
		"model": map[string]any{"type": "WordPiece", "vocab": vocab, "continuing_subword_prefix": "##",
			"max_input_chars_per_word": 100},
		"normalizer":    map[string]any{"type": "BertNormalizer", "lowercase": true, "strip_accents": nil, "handle_chinese_chars": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
	}
	if edit != nil {
		edit(tok)
	}
	const dim = 8
	data := make([]byte, 0, 4*dim*len(vocab))
	for id := range len(vocab) {
		for k := range dim {
			x := float32(0)
			if k == id {
				x = 2
			}
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
	}
	header, _ := json.Marshal(map[string]any{"embeddings": map[string]any{"dtype": "F32", "shape": []int{len(vocab), dim},
		"data_offsets": []int{0, len(data)}}})
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	raw, _ := json.Marshal(tok)
	for name, b := range map[string][]byte{"model.safetensors": append(file, data...), "tokenizer.json": raw,
		"config.json": []byte(`{"normalize":true}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestStatic(t *testing.T) {
	s, err := OpenStatic(model(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if id := s.Identity(); id.Name != "static" || id.Dim != 8 || len(id.Version) != 16 {
		t.Errorf("identity %v", id)
	}
	for text, want := range map[string][]int{
		"Cats": {1, 2}, "CÁTS!": {1, 2, 4}, "dog cat": {3, 1}, "dogs東cat": {3, 2, 5, 1}, "bird": {0}, "cat\x00s": {1, 2}, "": nil,
	} {
		if got := s.tokens.Encode(text, maxIDs); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	vecs, err := s.Embed(t.Context(), []string{"cat dog", "bird"})
	if err != nil {
		t.Fatal(err)
	}
	half := float32(math.Sqrt(.5))
	if want := []float32{0, half, 0, half, 0, 0, 0, 0}; !slices.Equal(vecs[0], want) || vecs[1] != nil {
		t.Errorf("got %v, want %v and none", vecs, want)
	}
}

func TestStaticRefuses(t *testing.T) {
	for name, edit := range map[string]func(map[string]any){
		"BPE": func(tok map[string]any) { tok["model"] = map[string]any{"type": "BPE"} },
		"Nmt": func(tok map[string]any) { tok["normalizer"] = map[string]any{"type": "Nmt"} },
	} {
		if _, err := OpenStatic(model(t, edit)); err == nil || !strings.Contains(err.Error(), "unsupported tokenizer") ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// server speaks both protocols of embedders. It answers the first fail requests with 503.
func server(t *testing.T, fail int32) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= fail {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		var req httpRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Model != "m" {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		vec := func(text string) []float32 {
			v := make([]float32, 8)
			v[len(text)%8] = 1
			return v
		}
		var reply httpReply
		for i := range req.Input {
			if r.URL.Path == "/api/embed" {
				reply.Embeddings = append(reply.Embeddings, vec(req.Input[i]))
				continue
			}
			k := len(req.Input) - 1 - i // in another order
			reply.Data = append(reply.Data, struct {
				Index     int       `json:"index"`
				Embedding []float32 `json:"embedding"`
			}{k, vec(req.Input[k])})
		}
		if err := json.NewEncoder(w).Encode(reply); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func TestHTTP(t *testing.T) {
	for _, path := range []string{"/v1/embeddings", "/api/embed"} {
		s, asked := server(t, 1)
		h, err := NewHTTP(Config{URL: s.URL + path, Model: "m", Dim: 8})
		if err != nil {
			t.Fatal(err)
		}
		texts := make([]string, 100)
		for i := range texts {
			texts[i] = strings.Repeat("x", i%7+1)
		}
		vecs, err := h.Embed(t.Context(), texts)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i, v := range vecs {
			if v[len(texts[i])%8] != 1 {
				t.Fatalf("%s: text %d has %v", path, i, v)
			}
		}
		if asked.Load() != 3 { // one rejected, two batches
			t.Errorf("%s: %d requests, want 3", path, asked.Load())
		}
	}
}

func TestHTTPRefuses(t *testing.T) {
	s, _ := server(t, 0)
	h, err := NewHTTP(Config{URL: s.URL + "/v1/embeddings", Model: "m", Dim: 16})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Embed(t.Context(), []string{"x"}); err == nil || !strings.Contains(err.Error(), "8 dimensions, configured are 16") {
		t.Errorf("another dimension: %v", err)
	}
	for _, c := range []Config{{URL: "ftp://x", Model: "m", Dim: 8}, {URL: "http://x", Dim: 8}, {URL: "http://x", Model: "m"}} {
		if _, err := NewHTTP(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestBert embeds with a model in a directory, as configured.
func TestBert(t *testing.T) {
	m := berttest.Small()
	m.Prompts = map[string]string{"query": "query: ", "passage": "passage: "}
	e, err := Open(Config{Kind: "bert", Path: m.Write(t)})
	if err != nil {
		t.Fatal(err)
	}
	if id := e.Identity(); id.Name != "bert" || id.Dim != 64 || len(id.Version) != 16 {
		t.Errorf("identity %v", id)
	}
	texts, err := e.Embed(t.Context(), []string{"the violin is in the attic", ""})
	if err != nil {
		t.Fatal(err)
	}
	question, err := NewGuard(e).Question(t.Context(), time.Minute, "the violin is in the attic")
	if err != nil {
		t.Fatal(err)
	}
	if len(texts[0]) != 64 || texts[1] != nil || len(question) != 64 || slices.Equal(texts[0], question) {
		t.Errorf("a text has %d numbers, an empty one %d, a question %d, or a question is embedded as a text is",
			len(texts[0]), len(texts[1]), len(question))
	}
	if _, err := Open(Config{Kind: "bert", Path: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "bert embedder: ") {
		t.Errorf("an empty directory: %v", err)
	}
}

func TestOpen(t *testing.T) {
	for kind, want := range map[string]bool{"": false, "none": false, "client_only": false, "builtin": true} {
		if e, err := Open(Config{Kind: kind}); err != nil || (e != nil) != want {
			t.Errorf("%q: %v, %v", kind, e, err)
		}
	}
	if _, err := Open(Config{Kind: "magic"}); err == nil {
		t.Error("magic is taken")
	}
}

const goldenHashed = -2.214284
