package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// hidden stands where a configuration has a secret.
const hidden = "REDACTED"

// Redacted is a configuration file as others may see it: what the file sets, as it was decoded, without the values of fields
// that are marked `secret:"true"` and of keys that are not known, and without passwords in addresses.
func Redacted(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("a dev node has none")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var set map[string]any
	if err := toml.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("%s is not TOML", path) // the decoder's error may quote it
	}
	return toml.Marshal(redact(set, reflect.TypeFor[File]()))
}

// redact hides what a decoded value may not show, going by the type that it is decoded into.
func redact(v any, t reflect.Type) any {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = redactField(key, value, t)
		}
		return v
	case []any:
		for i := range v {
			v[i] = redact(v[i], t)
		}
		return v
	case string:
		return withoutPassword(v)
	}
	return v
}

func redactField(key string, value any, t reflect.Type) any {
	switch {
	case t == nil:
		return hidden
	case t.Kind() == reflect.Map && t.Elem().Kind() != reflect.Interface:
		return redact(value, t.Elem())
	case t.Kind() != reflect.Struct:
		return hidden
	}
	f, known := fieldOf(t, key)
	if !known || f.Tag.Get("secret") != "" {
		return hidden
	}
	return redact(value, f.Type)
}

// fieldOf is the field that a key is decoded into; the decoder takes names in either case.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); name != "" && strings.EqualFold(name, key) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// withoutPassword hides who asks, and with what, in an address: keys travel as parameters, too.
func withoutPassword(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	return u.String()
}
