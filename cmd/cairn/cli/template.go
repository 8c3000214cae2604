package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"text/template"
)

// inTemplates holds the functions of templates in addition to the standard ones: line cuts a text to so many
// characters, without line breaks.
var inTemplates = template.FuncMap{"line": func(most int, text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	return string(r[:min(len(r), most)])
}}

// Fill prints JSON for people, as a template says. Numbers are as they were written; the JSON of a field NAME is
// NAME_json.
func (s *Streams) Fill(text string, raw json.RawMessage) error {
	t, err := template.New("answer").Funcs(inTemplates).Parse(text)
	if err != nil {
		return err
	}
	v, err := forTemplate(raw)
	if err != nil {
		return err
	}
	return t.Execute(s.Out, v)
}

// forTemplate is JSON as a template reads it.
func forTemplate(raw json.RawMessage) (v any, err error) {
	switch raw = bytes.TrimSpace(raw); {
	case bytes.HasPrefix(raw, []byte("{")):
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, err
		}
		object := make(map[string]any, 2*len(fields))
		for name, value := range fields {
			if object[name], err = forTemplate(value); err != nil {
				return nil, err
			}
			object[name+"_json"] = string(value)
		}
		return object, nil
	case bytes.HasPrefix(raw, []byte("[")):
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			if list[i], err = forTemplate(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return v, d.Decode(&v)
}
