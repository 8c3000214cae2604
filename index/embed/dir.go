package embed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/index/embed/bert"
	"github.com/cairndb/cairn/index/embed/modeldir"
)

// OpenDir opens the model in a directory, of the kind its files say: static, or else bert.
func OpenDir(dir string) (Embedder, error) {
	kind, err := KindOf(dir)
	if err != nil {
		return nil, err
	}
	if kind == "static" {
		return OpenStatic(dir)
	}
	return OpenBert(dir, bert.Options{})
}

// KindOf returns the kind of embedder that reads a model's directory.
func KindOf(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a file: a model is a directory with config.json, tokenizer.json and model.safetensors", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "0_StaticEmbedding")); err == nil {
		return "static", nil
	}
	var c struct {
		Type  string `json:"model_type"`
		Heads int    `json:"num_attention_heads"`
	}
	switch err := modeldir.JSON(filepath.Join(dir, "config.json"), &c); {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Stat(filepath.Join(dir, "modules.json")); err == nil { // the model lies in its own folder
			return "bert", nil
		}
		if _, err := os.Stat(filepath.Join(dir, "model.safetensors")); err != nil {
			return "", fmt.Errorf("%s holds no model: want config.json, tokenizer.json and model.safetensors", dir)
		}
		return "static", nil
	case err != nil:
		return "", err
	case c.Heads == 0:
		return "static", nil
	}
	return "bert", nil
}
