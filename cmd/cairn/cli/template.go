package cli

import (
	"encoding/json"
	"strings"
	"text/template"

	"github.com/cairndb/cairn/wire/large"
)

// templateFuncs holds additional template functions. line N TEXT returns the first N characters of a text, on one
// line.
var templateFuncs = template.FuncMap{"line": func(most int, text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	return string(r[:min(len(r), most)])
}}

// PrintTemplate executes a text/template with JSON data and prints the result. Numbers keep their spelling.
func (s *Streams) PrintTemplate(text string, raw json.RawMessage) error {
	t, err := template.New("answer").Funcs(templateFuncs).Parse(text)
	if err != nil {
		return err
	}
	v, err := large.JSON(raw)
	if err != nil {
		return err
	}
	return t.Execute(s.Out, v)
}
