package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// hidden stands where a configuration has a secret.
const hidden = "REDACTED"

// Redacted is a configuration file as others may see it: what the file sets, as it was decoded, without the values of
// fields that are marked `secret:"true"` and of keys that are not known, and without passwords in addresses.
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
		return nil, fmt.Errorf("%s is not TOML", path) // the decoder's error may quote it
	}
	return toml.Marshal(redact(set, ""))
}

// redact hides what a decoded value may not show. Names of a key that is a table are the user's own, and shown.
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
		return hidden
	}
	if text, is := v.(string); is {
		return withoutPassword(text)
	}
	return v
}

// withoutPassword hides the user, the password and the parameters of a URL: keys travel as parameters, too.
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
