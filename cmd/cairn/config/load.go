package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/wire/field"
)

// checkProtections returns an error for unknown keys in the sections that protect data, and for an unsupported
// protection: such a node must not start.
func (f *File) checkProtections(unknown []string) error {
	var errs []error
	for _, key := range unknown {
		if section, _, _ := strings.Cut(strings.ToLower(key), "."); section == "tls" || section == "encryption" {
			errs = append(errs,
				fmt.Errorf("[%s] has no key %s, and a misspelled key here would leave a port or the disk unprotected", section, key))
		}
	}
	if f.Encryption.Generate {
		errs = append(errs,
			errors.New("[encryption] auto_generate is not supported: make a key with `cairn key new` and keep it apart from the data"))
	}
	return errors.Join(errs...)
}

// withNearest lists unknown keys, each with the key that it resembles.
func withNearest(unknown []string) string {
	names := api.Each(keys, func(k key) string { return k.section + "." + k.name })
	return strings.Join(api.Each(unknown, func(name string) string {
		if best := field.Nearest(name, names); best != "" {
			return name + " (did you mean " + best + "?)"
		}
		return name
	}), ", ")
}

// Load reads a configuration. The environment overrides the file, and flags override both. Unknown keys are logged as
// a warning; with strict they are an error.
func Load(path string, strict bool, flags func(*File), env func(string) string, log *slog.Logger) (Setup, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Setup{}, cli.Hint(err, "`cairn cluster init` writes one")
	}
	f, unknown, err := Parse(raw)
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	if f.Cluster.Secret != "" || f.Cluster.OtherSecret != "" {
		if _, err := private.ReadNamed(path); err != nil {
			return Setup{}, fmt.Errorf("the configuration has a secret in it: %w", err)
		}
	}
	if err := f.checkProtections(unknown); err != nil {
		return Setup{}, cli.Hint(fmt.Errorf("%s: %w", path, err), "correct the key that is named, or remove it")
	}
	if len(unknown) > 0 {
		if strict {
			return Setup{}, fmt.Errorf("%s: unknown keys: %s", path, withNearest(unknown))
		}
		log.Warn("unknown configuration keys are ignored", "path", path, "keys", withNearest(unknown))
	}
	if len(f.Raft) > 0 {
		log.Warn("configuration sections without effect in this build", "path", path, "sections", "raft")
	}
	if err := applyEnvironment(&f, env); err != nil {
		return Setup{}, err
	}
	flags(&f)
	if err := errors.Join(f.checkNumbers(), f.Local.check()); err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	c, err := f.validNode()
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	return Setup{Node: c, Local: f.Local}, nil
}

// validNode returns the node's configuration; an error if a node would not start with it.
func (f *File) validNode() (node.Config, error) {
	c, err := f.Node()
	return c, cmp.Or(err, c.Validate())
}

// Parse decodes a configuration, and returns the unknown keys.
func Parse(raw []byte) (f File, unknown []string, err error) {
	d := toml.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err = d.Decode(&f)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		return f, api.Each(strict.Errors, func(e toml.DecodeError) string { return strings.Join(e.Key(), ".") }), nil
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		if name := strings.Join(wrong.Key(), "."); name != "" {
			err = fmt.Errorf("%s: %w", name, typeError(name, err))
		}
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return f, nil, err
}

// typeError replaces the library's error about a value of the wrong type, which names Go types, with the valid
// values.
func typeError(name string, err error) error {
	if k, known := keyAt(name); known &&
		(strings.Contains(err.Error(), "cannot decode") || strings.Contains(err.Error(), "cannot be stored")) {
		return errors.New("want " + k.describeValues())
	}
	return err
}

// Setup is the complete setup of a node and its local surfaces.
type Setup struct {
	Node  node.Config
	Local Local
	Dev   bool
	Base  int // first port; 0: each protocol's own port
}
