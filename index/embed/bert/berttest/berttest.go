// Package berttest makes directories of small BERT models for tests: their numbers are pseudo-random and follow from
// their sizes alone.
package berttest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// A Config is a model's config.json.
type Config struct {
	Type      string  `json:"model_type"`
	Hidden    int     `json:"hidden_size"`
	Layers    int     `json:"num_hidden_layers"`
	Heads     int     `json:"num_attention_heads"`
	Inner     int     `json:"intermediate_size"`
	Vocab     int     `json:"vocab_size"`
	Positions int     `json:"max_position_embeddings"`
	Types     int     `json:"type_vocab_size"`
	Epsilon   float64 `json:"layer_norm_eps"`
	Act       string  `json:"hidden_act"`
	Pad       int     `json:"pad_token_id"`
}

// A Model describes the model directory that Write makes.
type Model struct {
	Config
	Dtype     string            // F32, F16 or BF16
	Prefix    string            // before the tensors' names
	CLS       bool              // pooling by the first token
	Modules   []string          // Transformer, Pooling, Normalize
	Prompts   map[string]string // by name; no file without
	Tokenizer []byte            // tokenizer.json; Letters for none
}

// Small returns a model of 64 dimensions that knows letters and digits.
func Small() *Model {
	return &Model{
		Config: Config{Type: "bert", Hidden: 64, Layers: 3, Heads: 2, Inner: 144, Vocab: 180, Positions: 66, Types: 2,
			Epsilon: 1e-12, Act: "gelu"},
		Dtype: "F32", Modules: []string{"Transformer", "Pooling", "Normalize"},
	}
}

// Letters returns a tokenizer.json whose pieces are letters and digits.
func Letters() []byte {
	vocab := map[string]int{"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
	for _, r := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		vocab[string(r)] = len(vocab)
		vocab["##"+string(r)] = len(vocab)
	}
	raw, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer"}, "pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 3}},
		"model":          map[string]any{"type": "WordPiece", "vocab": vocab},
	})
	if err != nil {
		panic(err)
	}
	return raw
}

// Write makes the model's directory.
func (m *Model) Write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, raw []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asJSON := func(name string, v any) {
		t.Helper()
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		put(name, raw)
	}
	asJSON("config.json", m.Config)
	asJSON("1_Pooling/config.json", map[string]any{"pooling_mode_cls_token": m.CLS, "pooling_mode_mean_tokens": !m.CLS})
	var modules []map[string]string
	for _, kind := range m.Modules {
		path := ""
		if kind == "Pooling" {
			path = "1_Pooling"
		}
		modules = append(modules, map[string]string{"type": "sentence_transformers.models." + kind, "path": path})
	}
	asJSON("modules.json", modules)
	if m.Prompts != nil {
		asJSON("config_sentence_transformers.json", map[string]any{"prompts": m.Prompts})
	}
	tokens := m.Tokenizer
	if tokens == nil {
		tokens = Letters()
	}
	put("tokenizer.json", tokens)
	put("model.safetensors", m.tensors())
	return dir
}

// tensors returns the model's safetensors file.
func (m *Model) tensors() []byte {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	state := numbers(22)
	add := func(name string, centre, spread float64, shape ...int) {
		from, n := len(data), 1
		for _, d := range shape {
			n *= d
		}
		for range n {
			bits := math.Float32bits(float32(centre + spread*state.next()))
			switch m.Dtype {
			case "F16":
				data = binary.LittleEndian.AppendUint16(data, half(bits))
			case "BF16":
				data = binary.LittleEndian.AppendUint16(data, uint16(bits>>16))
			default:
				data = binary.LittleEndian.AppendUint32(data, bits)
			}
		}
		header[m.Prefix+name] = map[string]any{"dtype": m.Dtype, "shape": shape, "data_offsets": []int{from, len(data)}}
	}
	norm := func(name string) {
		add(name+".weight", 1, .25, m.Hidden)
		add(name+".bias", 0, .25, m.Hidden)
	}
	linear := func(name string, out, in int) {
		add(name+".weight", 0, 2.5/math.Sqrt(float64(in)), out, in)
		add(name+".bias", 0, .25, out)
	}
	add("embeddings.word_embeddings.weight", 0, 1, m.Vocab, m.Hidden)
	add("embeddings.position_embeddings.weight", 0, .5, m.Positions, m.Hidden)
	add("embeddings.token_type_embeddings.weight", 0, .5, m.Types, m.Hidden)
	norm("embeddings.LayerNorm")
	for i := range m.Layers {
		at := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"query", "key", "value"} {
			linear(at+"attention.self."+name, m.Hidden, m.Hidden)
		}
		linear(at+"attention.output.dense", m.Hidden, m.Hidden)
		norm(at + "attention.output.LayerNorm")
		linear(at+"intermediate.dense", m.Inner, m.Hidden)
		linear(at+"output.dense", m.Hidden, m.Inner)
		norm(at + "output.LayerNorm")
	}
	raw, err := json.Marshal(header)
	if err != nil {
		panic(err)
	}
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...), data...)
}

// numbers are pseudo-random, from −1 to 1 (splitmix64).
type numbers uint64

func (n *numbers) next() float64 {
	*n += 0x9e3779b97f4a7c15
	z := uint64(*n)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11)/(1<<52) - 1
}

// half cuts a number to 16 bits. One that is too small for a full exponent is 0.
func half(bits uint32) uint16 {
	if bits<<1>>24 < 113 {
		return 0
	}
	return uint16(bits>>16&0x8000 | (bits>>13-112<<10)&0x7fff)
}
