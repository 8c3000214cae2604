package bert

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index/embed/bert/berttest"
)

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := samples(t)[0]
	plain, err := Open(s.Write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Prompts = map[string]string{"query": "in: ", "passage": "the: "}
	m, err := Open(s.Write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Fingerprint() == plain.Fingerprint() {
		t.Error("prompts do not change the fingerprint")
	}
	question, err := m.Questions(t.Context(), []string{"cat", " "})
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Texts(t.Context(), []string{"cat", ""})
	if err != nil {
		t.Fatal(err)
	}
	want, err := plain.Texts(t.Context(), []string{"in: cat", "the: cat"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(question[0], want[0]) || !slices.Equal(text[0], want[1]) || question[1] != nil || text[1] != nil {
		t.Error("prompts do not stand before questions and texts, or an empty text has a vector")
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	m, err := Open(samples(t)[0].Write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Texts(ctx, []string{"cat"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestOpenRefuses checks that Open rejects an invalid directory with an error that names the cause.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(dir string) (file, text string){
		"no such file":              func(string) (string, string) { return "model.safetensors", "" },
		"model_type is \"t5\"":      config(func(s *berttest.Config) { s.Type = "t5" }),
		"hidden_size is 1073741824": config(func(s *berttest.Config) { s.Hidden = 1 << 30 }),
		"multiples of 16":           config(func(s *berttest.Config) { s.Heads = 3 }),
		"hidden_act is \"relu\"":    config(func(s *berttest.Config) { s.Act = "relu" }),
		"num_hidden_layers is 0":    config(func(s *berttest.Config) { s.Layers = 0 }),
		"no tensor encoder.layer.3": config(func(s *berttest.Config) { s.Layers = 4 }),
		"has the shape [180 64]":    config(func(s *berttest.Config) { s.Vocab = 181 }),
		"vocab_size is 100":         config(func(s *berttest.Config) { s.Vocab = 100 }),
		"type \"x.Dense\"":          func(string) (string, string) { return "modules.json", `[{"type":"x.Dense","path":"2_Dense"}]` },
		"leads out":                 func(string) (string, string) { return "modules.json", `[{"type":"x.Pooling","path":"../x"}]` },
		"want one of the mean":      func(string) (string, string) { return "1_Pooling/config.json", `{"pooling_mode_max_tokens":true}` },
		"over 1048576 bytes":        func(string) (string, string) { return "config.json", strings.Repeat(" ", 1<<20+1) },
		"too short":                 func(string) (string, string) { return "model.safetensors", "x" },
	} {
		dir := samples(t)[0].Write(t)
		file, text := edit(dir)
		path := filepath.Join(dir, file)
		err := os.Remove(path)
		if err == nil && text != "" {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func config(edit func(*berttest.Config)) func(string) (string, string) {
	return func(string) (string, string) {
		s := berttest.Small().Config
		edit(&s)
		raw, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return "config.json", string(raw)
	}
}

// FuzzConfig checks that an accepted configuration is within its bounds and refers to no other directory.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"model_type":"roberta","hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,"intermediate_size":16,"vocab_size":9,`+
		`"max_position_embeddings":20,"type_vocab_size":1,"hidden_act":"gelu","pad_token_id":1}`),
		[]byte(`[{"type":"a.Transformer"},{"type":"a.Pooling","path":"1_Pooling"}]`),
		[]byte(`{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`),
		[]byte(`{"max_seq_length":9}`), []byte(`{"prompts":{"query":"q: "}}`))
	dir := f.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "1_Pooling"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, config, modules, pooling, cut, prompts []byte) {
		var s shape
		if err := json.Unmarshal(config, &s); err == nil && s.check() == nil {
			if d := s.Hidden / s.Heads; d%tileCols != 0 || s.Layers > maxLayers || s.Inner > maxInner || s.Positions <= s.offset ||
				*s.Epsilon < 0 {
				t.Fatalf("%+v", s)
			}
		}
		for name, raw := range map[string][]byte{"modules.json": modules, "1_Pooling/config.json": pooling,
			"sentence_bert_config.json":         cut,
			"config_sentence_transformers.json": prompts} {
			if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := readRecipe(dir)
		if err != nil {
			return
		}
		if to, err := filepath.Rel(dir, r.Dir); err != nil || !filepath.IsLocal(to) || r.Tokens < 8 || r.Tokens > maxTokens ||
			len(r.Question)+len(r.Text) > 2*maxPrompt {
			t.Fatalf("%+v, %v", r, err)
		}
	})
}
