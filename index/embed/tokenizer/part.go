package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A part is a normalizer or a pre-tokenizer of a tokenizer.json; each type uses some of the fields.
type part struct {
	Type          string  `json:"type"`
	Normalizers   []*part `json:"normalizers"`
	PreTokenizers []*part `json:"pretokenizers"`

	CleanText    *bool `json:"clean_text"`
	Lowercase    *bool `json:"lowercase"`
	StripAccents *bool `json:"strip_accents"`
	Chinese      *bool `json:"handle_chinese_chars"`

	Charsmap []byte `json:"precompiled_charsmap"`

	Pattern struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	} `json:"pattern"`
	Content string `json:"content"`
	Left    bool   `json:"strip_left"`
	Right   bool   `json:"strip_right"`
	Prepend string `json:"prepend"`

	Replacement *string `json:"replacement"`
	Prefix      *bool   `json:"add_prefix_space"`
	Scheme      string  `json:"prepend_scheme"`
	Split       *bool   `json:"split"`
}

// orDefault returns a setting, or otherwise if the file leaves it out.
func orDefault(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}

func unsupported(kind, name string) error {
	return fmt.Errorf("unsupported tokenizer: %s %.64q", kind, name)
}

var errSteps = errors.New("too many normalizers or pre-tokenizers")

// specialTokens reads the special tokens that a post-processor puts around a text.
func specialTokens(raw json.RawMessage) (start, end []int, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil, nil
	}
	var p struct {
		Type   string            `json:"type"`
		Single []json.RawMessage `json:"single"`
		Tokens map[string]struct {
			IDs []int `json:"ids"`
		} `json:"special_tokens"`
		CLS, SEP pair
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, nil, fmt.Errorf("post-processor: %w", err)
	}
	switch p.Type {
	case "BertProcessing", "RobertaProcessing":
		return []int{p.CLS.id}, []int{p.SEP.id}, nil
	case "TemplateProcessing":
	default:
		return nil, nil, unsupported("post-processor", p.Type)
	}
	to, texts := &start, 0
	for _, raw := range p.Single {
		var s struct {
			Special *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, nil, fmt.Errorf("post-processor: %w", err)
		}
		if s.Special == nil { // the text
			to = &end
			texts++
			continue
		}
		t, ok := p.Tokens[s.Special.ID]
		if !ok {
			return nil, nil, fmt.Errorf("post-processor: no special token %.64q", s.Special.ID)
		}
		if *to = append(*to, t.IDs...); len(*to) > maxSteps {
			return nil, nil, errors.New("post-processor: too many special tokens")
		}
	}
	if texts != 1 {
		return nil, nil, fmt.Errorf("post-processor: a template with %d texts, 1 is needed", texts)
	}
	return start, end, nil
}

// A pair is a token and its number, as post-processors write it.
type pair struct{ id int }

func (p *pair) UnmarshalJSON(raw []byte) error {
	var name string
	return json.Unmarshal(raw, &[]any{&name, &p.id})
}
