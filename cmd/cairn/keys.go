package main

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/oplog/seal"
)

// keySource is the flag of commands that work without a configuration: where the master key is.
type keySource struct{ file string }

func (k *keySource) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.file, "key-file", "", "file with the master key of an encrypted home or backup; see `cairn key --help`")
}

func (k *keySource) set() bool { return k.file != "" }

// source is the flag's file, or what the environment names as it does for a configuration.
func (k *keySource) source() seal.Source {
	if k.set() {
		return seal.Source{File: k.file}
	}
	s := seal.Source{File: os.Getenv("CAIRN_ENCRYPTION_KEY_FILE"), Env: os.Getenv("CAIRN_ENCRYPTION_KEY_ENV"), Command: os.Getenv("CAIRN_ENCRYPTION_KEY_COMMAND")}
	if !s.On() && os.Getenv(hexKeyEnv) != "" {
		s.Env = hexKeyEnv
	}
	return s
}

// scratch is a ring for what is thrown away, that reads the master key's backups; nil when no key is named.
func (k *keySource) scratch(ctx context.Context) (*seal.Ring, error) {
	s := k.source()
	if !s.On() {
		return nil, nil
	}
	masters, err := s.Masters(ctx)
	if err != nil {
		return nil, err
	}
	return seal.Ephemeral(masters), nil
}

// keyHint says what to do about an error of encryption; another error gets the other hint, if there is one.
func keyHint(err error, other string) error {
	hint := ""
	switch {
	case errors.Is(err, seal.ErrSealed):
		hint = "name its master key: key_file, key_env or key_command in [encryption], --key-file, or CAIRN_ENCRYPTION_KEY_FILE"
	case errors.Is(err, seal.ErrPlain):
		hint = "`cairn key encrypt` encrypts the home of a stopped node; or give the node an empty home, and the others bring it up to date"
	case errors.Is(err, seal.ErrKey):
		hint = "put the key that fits there; when the master key was changed, the old one stays on a line below the new one until every node has started with both"
	}
	if hint = cmp.Or(hint, other); hint == "" {
		return err
	}
	return hinted{err, hint}
}
