package sfmd

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// Front is a front matter, a YAML map. Its values are decoded when they are requested. Nested values are skipped.
type Front map[string]yaml.Node

// Text returns the scalar value of a key.
func (f Front) Text(key string) string {
	if v := f[key]; v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// List returns the list value of a key. A scalar is a list of one.
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

// maxFront bounds a front matter, because parsed YAML takes a hundred times the size of its text.
const maxFront = 64 << 10

func parseFront(text string) (f Front, err error) {
	if len(text) > maxFront {
		return nil, errors.New("over 64 KiB")
	}
	return f, yaml.Unmarshal([]byte(text), &f)
}
