package memory

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire/field"
)

// value is a flag of a field: it refuses what the operation would, and keeps the text for the request.
type value struct {
	f     field.Field
	flag  string
	given map[string][]string // by field
}

// addFlag adds the flag of a field, whose text is then in given.
func addFlag(fs *pflag.FlagSet, name string, f field.Field, given map[string][]string) {
	flag := fs.VarPF(&value{f, "--" + name, given}, name, shorthand(name), f.Phrase())
	flag.DefValue = f.Default
	if f.Kind.Type == "boolean" {
		flag.NoOptDefVal = "true"
		flag.DefValue = "false"
		if f.Default != "" {
			flag.DefValue = f.Default
		}
	}
}

// shorthand is the letter of flags that most verbs have.
func shorthand(name string) string {
	if name == "namespace" {
		return "n"
	}
	return ""
}

func (v *value) String() string { return strings.Join(v.given[v.f.Name], ",") }

func (v *value) Set(text string) error {
	if v.f.Kind.Name == "date" {
		at, err := cli.ParseTime(text, time.Now())
		if err != nil {
			return fmt.Errorf("%s %q: %w", v.flag, text, err)
		}
		if _, err := field.ParseDate(text); err != nil { // a node knows no "2h"
			text = at.UTC().Format(time.RFC3339Nano)
		}
		v.given[v.f.Name] = []string{text}
		return nil
	}
	texts := []string{text}
	if v.f.Kind.Item != nil {
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

// Type is what help calls the value.
func (v *value) Type() string {
	k := v.f.Kind
	switch {
	case k.Name == "date":
		return "date"
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

// check refuses a text that a field's value may not be; said names it as the user typed it.
func check(f field.Field, said, text string) error {
	k := f.Kind
	if k.Item != nil {
		k = *k.Item
	}
	if (k.Type == "" && k.Name != "date" || k.Type == "object") && !json.Valid([]byte(text)) {
		return fmt.Errorf("%s: want JSON, got %.40q", said, text)
	}
	return k.Text(said, text)
}

// jsonOf is a value as a body has it. Its text was checked.
func jsonOf(k field.Kind, texts []string) json.RawMessage {
	if k.Item != nil {
		items := make([]json.RawMessage, len(texts))
		for i, t := range texts {
			items[i] = jsonOf(*k.Item, []string{t})
		}
		return marshal(items)
	}
	text := texts[0]
	_, notNumber := strconv.ParseFloat(text, 64)
	switch {
	case k.Type == "string", k.Name == "date" && notNumber != nil:
		return marshal(text)
	case k.Type == "boolean":
		return marshal(text == "true" || text == "1")
	}
	return json.RawMessage(text)
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("cairn: " + err.Error()) // texts always encode
	}
	return b
}
