package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// redactedValue replaces secrets in a configuration.
const redactedValue = "REDACTED"

// Redacted returns a configuration file for support. It contains the keys that the file sets, without the values of
// fields that are marked `secret:"true"` and of unknown keys, and without passwords in addresses.
func Redacted(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("a dev node has no configuration file")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var set map[string]any
	if err := toml.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("%s is not TOML", path) // the decoder's error may quote a secret
	}
	return toml.Marshal(redact(set, ""))
}

// redact replaces secrets in a decoded value. In a key that is a table, the user chose the names, and they are kept.
func redact(v any, path string) any {
	k, known := keyAt(path)
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			at := path
			if !known || k.kind() != "table" {
				at = strings.TrimPrefix(path+"."+name, ".")
			}
			v[name] = redact(value, at)
		}
		return v
	case []any:
		for i := range v {
			v[i] = redact(v[i], path)
		}
		return v
	}
	if !known || k.field.Tag.Get("secret") != "" {
		return redactedValue
	}
	if text, is := v.(string); is {
		return withoutPassword(text)
	}
	return v
}

// withoutPassword redacts the user, the password and the parameters of a URL, because parameters may contain keys.
func withoutPassword(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil {
		return redactedValue
	}
	if u.User != nil {
		u.User = url.User(redactedValue)
	}
	if u.RawQuery != "" {
		u.RawQuery = redactedValue
	}
	return u.String()
}
