package cli

import (
	"encoding/json"
	"strings"
	"text/template"

	"github.com/cairndb/cairn/wire/large"
)

// inTemplates holds the functions of templates in addition to the standard ones: line cuts a text to so many
// characters, without line breaks.
var inTemplates = template.FuncMap{"line": func(most int, text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	return string(r[:min(len(r), most)])
}}

// Fill prints JSON for people, as a template says. Numbers are as they were written.
func (s *Streams) Fill(text string, raw json.RawMessage) error {
	t, err := template.New("answer").Funcs(inTemplates).Parse(text)
	if err != nil {
		return err
	}
	v, err := large.JSON(raw)
	if err != nil {
		return err
	}
	return t.Execute(s.Out, v)
}
