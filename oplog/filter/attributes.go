package filter

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Attribute is a name and its value.
type Attribute struct {
	Name  string
	Value Value
}

// Attributes parses attributes and sorts them by name. An empty text and null have none.
func Attributes(raw []byte) ([]Attribute, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if len(raw) > 4*MaxSize { // spaces and escapes do not count against MaxSize, but must be bounded too
		return nil, fmt.Errorf("%d bytes are over %d", len(raw), MaxSize)
	}
	all, err := members(raw)
	if err != nil {
		return nil, err
	}
	if len(all) > MaxAttributes {
		return nil, fmt.Errorf("%d names are over %d", len(all), MaxAttributes)
	}
	list := make([]Attribute, len(all))
	for i, m := range all {
		if list[i].Name = m.name; !ValidName(m.name) {
			return nil, fmt.Errorf("%s is not the name of an attribute: want 1 to %d bytes, not and, or, not, and no @ in front",
				quoteName(m.name), MaxName)
		}
		if list[i].Value, err = readValue(m.value); err != nil {
			return nil, fmt.Errorf("%s: %w", quoteName(m.name), err)
		}
		if list[i].Value.kind == absent {
			return nil, fmt.Errorf("%s is null: leave it out", quoteName(m.name))
		}
	}
	slices.SortFunc(list, func(a, b Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Nameable reports whether a text may be the name of an attribute.
func ValidName(name string) bool {
	switch name {
	case "and", "or", "not":
		return false
	}
	return strings.Trim(name, " ") != "" && len(name) <= MaxName && name[0] != '@'
}

// Canonical returns the canonical form of attributes; nil for none.
func Canonical(raw []byte) ([]byte, error) {
	list, err := Attributes(raw)
	if err != nil {
		return nil, err
	}
	b := encode(list)
	if len(b) > MaxSize {
		return nil, fmt.Errorf("%d bytes are over %d", len(b), MaxSize)
	}
	return b, nil
}

// Check rejects attributes that may not be stored. It accepts any spelling; only Canonical produces the stored one.
func Check(raw []byte) error {
	if len(raw) > MaxSize {
		return fmt.Errorf("%d bytes are over %d", len(raw), MaxSize)
	}
	_, err := Attributes(raw)
	return err
}

// Shared returns the attributes that all objects have with the same values. The objects are in canonical form.
func Shared(all ...[]byte) []byte {
	var both []Attribute
	for i, raw := range all {
		list, _ := Attributes(raw)
		if i == 0 {
			both = list
		}
		both = slices.DeleteFunc(both, func(a Attribute) bool {
			return !slices.ContainsFunc(list, func(b Attribute) bool {
				return a.Name == b.Name && bytes.Equal(a.Value.append(nil), b.Value.append(nil))
			})
		})
	}
	return encode(both)
}

func encode(list []Attribute) []byte {
	if len(list) == 0 {
		return nil
	}
	b := []byte{'{'}
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, list[i].Name), ':')
		b = list[i].Value.append(b)
	}
	return append(b, '}')
}
