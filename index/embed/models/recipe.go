package models

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A recipe says how a BERT model's numbers become one vector of a text. Some authors describe this in prose alone:
// the prompts of E5 and BGE are in none of their files, and without the prompts the vectors are worse. So we write
// the recipe's files from this table, in the form that package bert reads.
type recipe struct {
	tokens         int  // of a text
	first          bool // the first token's vector, not the mean
	question, text string
}

// write writes the recipe's files next to the model's own, and syncs them. A file that is there stays, unless it is
// not JSON. A nil recipe writes nothing.
func (r *recipe) write(dir string) error {
	if r == nil {
		return nil
	}
	type module struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	const pkg = "sentence_transformers.models."
	for name, v := range map[string]any{
		"modules.json": []module{{"", pkg + "Transformer"}, {"1_Pooling", pkg + "Pooling"},
			{"2_Normalize", pkg + "Normalize"}},
		"1_Pooling/config.json":             map[string]bool{"pooling_mode_cls_token": r.first, "pooling_mode_mean_tokens": !r.first},
		"sentence_bert_config.json":         map[string]int{"max_seq_length": r.tokens},
		"config_sentence_transformers.json": map[string]any{"prompts": map[string]string{"query": r.question, "document": r.text}},
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if raw, err := os.ReadFile(path); err == nil && json.Valid(raw) {
			continue
		}
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := syncwriter.Replace(path, append(raw, '\n'), 0o600); err != nil {
			return err
		}
	}
	return nil
}
