package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// flagValue is the pflag.Value of a request field. It rejects the values that the operation would reject, and stores
// the text in given.
type flagValue struct {
	f     field.Field
	flag  string
	given Given
}

// Given holds the values that the user gave, by request field.
type Given map[string][]string

// Flags adds flags for fields of an operation's request; flags maps flag names to field names. Help, default and
// valid values come from the field.
func Flags(fs *pflag.FlagSet, op *api.Op, flags map[string]string) Given {
	given := Given{}
	for name, of := range flags {
		addFlag(fs, name, op.Takes().Named(of), given)
	}
	return given
}

// Body returns the given values in the form of a request body.
func (g Given) Body(fields field.Object) map[string]any {
	body := map[string]any{}
	for _, f := range fields {
		if texts := g[f.Name]; len(texts) > 0 {
			body[f.Name] = toJSON(f.Kind, texts)
		}
	}
	return body
}

// dateFormats is the help suffix of flags that accept dates.
const dateFormats = " (2026-01-31, 2026-01-31T15:04:05Z, 7d for seven days ago, +3d)"

// addFlag adds the flag of a field. Parsing the command line stores its value in given.
func addFlag(fs *pflag.FlagSet, name string, f field.Field, given Given) {
	if f.Name == "limit" && f.Kind.Min == 0 && !strings.Contains(f.Doc, "0 means") { // --limit 0 is a mistake
		f.Kind.Min, f.Kind.Want = 1, "a whole number of at least 1"
	}
	usage := f.Phrase()
	if f.Kind.Name == "date" {
		usage += dateFormats
	}
	flag := fs.VarPF(&flagValue{f, "--" + name, given}, name, shorthands[name], usage)
	flag.DefValue = f.Default
	if f.Kind.Type == "boolean" {
		flag.NoOptDefVal, flag.DefValue = "true", cmp.Or(f.Default, "false")
	}
}

// shorthands maps frequent flags to their one-letter forms.
var shorthands = map[string]string{"namespace": "n", "top": "k"}

func (v *flagValue) String() string { return strings.Join(v.given[v.f.Name], ",") }

func (v *flagValue) Set(text string) error {
	if v.f.Kind.Name == "date" {
		at, err := field.ParseWhen(text, time.Now())
		if err != nil {
			return fmt.Errorf("%s %q: %w", v.flag, text, err)
		}
		past := strings.HasSuffix(v.f.Name, "expires_at") && at.Before(time.Now())
		if _, err := field.ParseDate(text); err == nil && past {
			return fmt.Errorf("%s %q is in the past: no answer would return the memory", v.flag, text)
		} else if err != nil { // a node does not parse "2h"
			if past {
				return fmt.Errorf("%s %q is in the past: +%s is in the future", v.flag, text, text)
			}
			text = at.UTC().Format(time.RFC3339Nano)
		}
		v.given[v.f.Name] = []string{text}
		return nil
	}
	if v.f.Kind.Name == "seconds" {
		if d, ok := field.ParseSpan(text); ok {
			text = strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
		} else if _, err := strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("%s: want a time such as 12h, 30d or 90 for 90 seconds, got %q", v.flag, text)
		}
	}
	texts := []string{text}
	if v.f.Kind.Item != nil && v.f.Kind.Item.Shape == "" {
		texts = append(v.given[v.f.Name], strings.Split(text, ",")...)
	}
	for _, t := range texts {
		if err := check(v.f, v.flag, t); err != nil {
			return err
		}
	}
	v.given[v.f.Name] = texts
	return nil
}

// Type returns the type name for help.
func (v *flagValue) Type() string {
	k := v.f.Kind
	switch {
	case k.Name == "date":
		return "date"
	case k.Name == "seconds":
		return "time"
	case k.Name == "token":
		return "index"
	case k.Item != nil:
		return k.Item.Type + "s"
	case k.Enum != nil:
		return strings.Join(k.Enum, "|")
	case k.Type == "boolean":
		return "bool"
	case k.Type == "integer":
		return "int"
	case k.Type == "" || k.Type == "object":
		return "json"
	}
	return k.Type
}

// check returns an error if a text is not valid for a field. said is the flag or argument name for the message.
func check(f field.Field, said, text string) error {
	k := f.Kind
	if at := field.FirstNotUTF8(text); at >= 0 {
		return fmt.Errorf("%s: byte %d is not UTF-8", said, at)
	}
	if k.Item != nil && k.Item.Shape != "" {
		var items []json.RawMessage
		if json.Unmarshal([]byte(text), &items) != nil {
			return fmt.Errorf("%s: want a list in JSON, got %.40q", said, text)
		}
		return nil
	}
	if k.Item != nil {
		k = *k.Item
	}
	if (k.Type == "" && k.Name != "date" || k.Type == "object") && !json.Valid([]byte(text)) {
		return fmt.Errorf("%s: want JSON, got %.40q", said, text)
	}
	return k.Text(said, text)
}

// toJSON encodes a field's value for a request body. The text was checked.
func toJSON(k field.Kind, texts []string) json.RawMessage {
	if k.Item != nil && k.Item.Shape != "" { // a list of objects is given as one JSON text
		return json.RawMessage(texts[0])
	}
	if k.Item != nil {
		return kit.MustJSON(api.Each(texts, func(t string) json.RawMessage { return toJSON(*k.Item, []string{t}) }))
	}
	text := texts[0]
	number, notNumber := strconv.ParseFloat(text, 64)
	switch {
	case k.Type == "string", k.Name == "date" && notNumber != nil:
		return kit.MustJSON(text)
	case k.Type == "boolean":
		return kit.MustJSON(text == "true" || text == "1")
	case notNumber == nil && !json.Valid([]byte(text)): // such as .5 or +5, which JSON does not allow
		return kit.MustJSON(number)
	}
	return json.RawMessage(text)
}
