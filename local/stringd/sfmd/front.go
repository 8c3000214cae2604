package sfmd

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// A Front is a front matter: a YAML map, whose values are read as they are requested. What is deeper than this
// protocol reads is skipped.
type Front map[string]yaml.Node

// Text is a key's value when it is a scalar.
func (f Front) Text(key string) string {
	if v := f[key]; v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// List is a key's value as a list; a scalar is a list of one.
func (f Front) List(key string) (list []string) {
	if one := f.Text(key); one != "" {
		return []string{one}
	}
	if v := f[key]; v.Kind == yaml.SequenceNode {
		for _, item := range v.Content {
			if item.Kind == yaml.ScalarNode {
				list = append(list, item.Value)
			}
		}
	}
	return list
}

// maxFront bounds a front matter: parsed YAML is a hundred times its text.
const maxFront = 64 << 10

func parseFront(text string) (f Front, err error) {
	if len(text) > maxFront {
		return nil, errors.New("over 64 KiB")
	}
	return f, yaml.Unmarshal([]byte(text), &f)
}
