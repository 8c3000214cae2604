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
)

// protections are sections that someone relies on for secrecy: a node that cannot honour them does not start.
func (f *File) protections(unknown []string) error {
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

// Load reads a configuration; the environment overrides the file, and flags both. Unknown keys are named in
// warnings, or rejected when strict.
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
	if err := f.protections(unknown); err != nil {
		return Setup{}, cli.Hint(fmt.Errorf("%s: %w", path, err), "correct the key that is named, or remove it")
	}
	if len(unknown) > 0 {
		if strict {
			return Setup{}, fmt.Errorf("%s: unknown keys: %s", path, strings.Join(unknown, ", "))
		}
		log.Warn("unknown configuration keys are ignored", "path", path, "keys", strings.Join(unknown, ", "))
	}
	if len(f.Raft) > 0 {
		log.Warn("configuration sections without effect in this build", "path", path, "sections", "raft")
	}
	if err := override(&f, env); err != nil {
		return Setup{}, err
	}
	flags(&f)
	if err := errors.Join(f.checkNumbers(), f.Local.check()); err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	c, err := f.valid()
	if err != nil {
		return Setup{}, fmt.Errorf("%s: %w", path, err)
	}
	return Setup{Node: c, Local: f.Local}, nil
}

// valid turns the file into what a node is opened with, unless no node would start with it.
func (f *File) valid() (node.Config, error) {
	c, err := f.Node()
	return c, cmp.Or(err, c.Validate())
}

// Parse decodes a configuration, and names the keys that it does not know.
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
			err = fmt.Errorf("%s: %w", name, mistyped(name, err))
		}
		err = fmt.Errorf("line %d: %w", line, err)
	}
	return f, nil, err
}

// mistyped says what a key wants whose value could not be decoded; the library names types of Go.
func mistyped(name string, err error) error {
	if k, known := keyAt(name); known &&
		(strings.Contains(err.Error(), "cannot decode") || strings.Contains(err.Error(), "cannot be stored")) {
		return errors.New("want " + k.wants())
	}
	return err
}

// Setup is all that a running node is made from.
type Setup struct {
	Node  node.Config
	Local Local
	Dev   bool
	Base  int // of the ports, 0 for the protocols' own
}
