package bert

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/index/embed/modeldir"
)

// The sizes a model may have.
const (
	maxHidden  = 4096
	maxInner   = 16384
	maxLayers  = 64
	maxTokens  = 512 // of a text, those around it included
	maxPrompt  = 1024
	maxModules = 8
)

// A shape holds what config.json says about a model.
type shape struct {
	Type      string   `json:"model_type"`
	Hidden    int      `json:"hidden_size"`
	Layers    int      `json:"num_hidden_layers"`
	Heads     int      `json:"num_attention_heads"`
	Inner     int      `json:"intermediate_size"`
	Vocab     int      `json:"vocab_size"`
	Positions int      `json:"max_position_embeddings"`
	Types     int      `json:"type_vocab_size"`
	Epsilon   *float64 `json:"layer_norm_eps"`
	Act       string   `json:"hidden_act"`
	Position  string   `json:"position_embedding_type"`
	Pad       int      `json:"pad_token_id"`

	offset int // of the first position
}

func (s *shape) check() error {
	switch s.Type {
	case "bert":
	case "roberta", "xlm-roberta", "camembert":
		s.offset = s.Pad + 1
	default:
		return fmt.Errorf("model_type is %.64q: want bert, roberta, xlm-roberta or camembert", s.Type)
	}
	var errs []error
	within := func(name string, got, least, most int) {
		if got < least || got > most {
			errs = append(errs, fmt.Errorf("%s is %d: want %d to %d", name, got, least, most))
		}
	}
	within("hidden_size", s.Hidden, tileCols, maxHidden)
	within("num_hidden_layers", s.Layers, 1, maxLayers)
	within("num_attention_heads", s.Heads, 1, maxHidden/tileCols)
	within("intermediate_size", s.Inner, tileCols, maxInner)
	within("vocab_size", s.Vocab, 1, 1<<21)
	within("max_position_embeddings", s.Positions, 8+s.offset, 1<<16)
	within("type_vocab_size", s.Types, 1, 64)
	within("pad_token_id", s.Pad, 0, 1<<10)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if s.Hidden%(s.Heads*tileCols) != 0 || s.Inner%tileCols != 0 {
		return fmt.Errorf("hidden_size %d in %d heads, intermediate_size %d: a head's and the intermediate size have to be multiples of %d",
			s.Hidden, s.Heads, s.Inner, tileCols)
	}
	if s.Act != "gelu" {
		return fmt.Errorf("hidden_act is %.64q: want gelu", s.Act)
	}
	if s.Position != "" && s.Position != "absolute" {
		return fmt.Errorf("position_embedding_type is %.64q: want absolute", s.Position)
	}
	if s.Epsilon == nil {
		e := 1e-12
		s.Epsilon = &e
	}
	if *s.Epsilon < 0 || *s.Epsilon > .1 {
		return fmt.Errorf("layer_norm_eps is %g", *s.Epsilon)
	}
	return nil
}

// A recipe says how a text becomes one vector. It comes from the files next to the model itself.
type recipe struct {
	Dir       string // of the model; the directory itself, or one in it
	CLS       bool   // the first token's vector, not the mean
	Normalise bool
	Tokens    int // of a text, those around it included
	Question  string
	Text      string
}

// readRecipe follows modules.json, as sentence-transformers writes it. Without it the vector is the mean, normalised.
func readRecipe(dir string) (r recipe, err error) {
	r = recipe{Dir: dir, Normalise: true, Tokens: maxTokens}
	var modules []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	pooling := "1_Pooling"
	err = modeldir.JSON(filepath.Join(dir, "modules.json"), &modules)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return r, err
	case len(modules) > maxModules:
		return r, fmt.Errorf("modules.json: %d modules: want at most %d", len(modules), maxModules)
	default:
		r.Normalise = false
	}
	for _, m := range modules {
		if m.Path != "" && !filepath.IsLocal(m.Path) {
			return r, fmt.Errorf("modules.json: the path %.64q leads out of the directory", m.Path)
		}
		switch kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]; kind {
		case "Transformer":
			r.Dir = filepath.Join(dir, m.Path)
		case "Pooling":
			pooling = m.Path
		case "Normalize":
			r.Normalise = true
		default:
			return r, fmt.Errorf("modules.json: a module of type %.64q: want Transformer, Pooling or Normalize", m.Type)
		}
	}
	if err := r.pooling(filepath.Join(dir, pooling, "config.json")); err != nil {
		return r, err
	}
	var b struct {
		Tokens int `json:"max_seq_length"`
	}
	if err := optional(filepath.Join(r.Dir, "sentence_bert_config.json"), &b); err != nil {
		return r, err
	}
	if b.Tokens > 0 {
		r.Tokens = min(r.Tokens, max(b.Tokens, 8))
	}
	return r, r.prompts(filepath.Join(dir, "config_sentence_transformers.json"))
}

func optional(path string, v any) error {
	if err := modeldir.JSON(path, v); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (r *recipe) pooling(path string) error {
	var p struct {
		Mode   string `json:"pooling_mode"`
		CLS    bool   `json:"pooling_mode_cls_token"`
		Mean   bool   `json:"pooling_mode_mean_tokens"`
		Max    bool   `json:"pooling_mode_max_tokens"`
		Root   bool   `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weight bool   `json:"pooling_mode_weightedmean_tokens"`
		Last   bool   `json:"pooling_mode_lasttoken"`
		Prompt *bool  `json:"include_prompt"`
	}
	p.Mean = true
	if err := optional(path, &p); err != nil {
		return err
	}
	switch {
	case p.Mode == "cls", p.Mode == "" && p.CLS && !p.Mean && !p.Max && !p.Root && !p.Weight && !p.Last:
		r.CLS = true
	case p.Mode == "mean", p.Mode == "" && p.Mean && !p.CLS && !p.Max && !p.Root && !p.Weight && !p.Last:
	default:
		return fmt.Errorf("%s: want one of the mean and the first token", path)
	}
	if p.Prompt != nil && !*p.Prompt {
		return fmt.Errorf("%s: include_prompt is false, which is not supported", path)
	}
	return nil
}

// prompts reads what stands before questions and before texts.
func (r *recipe) prompts(path string) error {
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	if err := optional(path, &c); err != nil {
		return err
	}
	first := func(names ...string) string {
		for _, n := range names {
			if p := c.Prompts[n]; p != "" {
				return p
			}
		}
		return ""
	}
	r.Question, r.Text = first("query", c.Default), first("document", "passage", "corpus", c.Default)
	if len(r.Question) > maxPrompt || len(r.Text) > maxPrompt {
		return fmt.Errorf("%s: a prompt of more than %d bytes", path, maxPrompt)
	}
	return nil
}
