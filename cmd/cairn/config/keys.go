package config

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/oplog/seal"
)

// KeySource is the flag of commands that work without a configuration: where the master key is.
type KeySource struct{ file string }

// Flags adds --key-file.
func (k *KeySource) Flags(c *cobra.Command) {
	c.Flags().StringVar(&k.file, "key-file", "", "file with the master key of an encrypted home or backup; see \"cairn key --help\"")
}

// Set says whether the flag was given.
func (k *KeySource) Set() bool { return k.file != "" }

// Source is the flag's file, or what the environment names as it does for a configuration.
func (k *KeySource) Source() seal.Source {
	if k.Set() {
		return seal.Source{File: k.file}
	}
	s := seal.Source{File: os.Getenv("CAIRN_ENCRYPTION_KEY_FILE"), Env: os.Getenv("CAIRN_ENCRYPTION_KEY_ENV"), Command: os.Getenv("CAIRN_ENCRYPTION_KEY_COMMAND")}
	if !s.On() && os.Getenv(HexKeyEnv) != "" {
		s.Env = HexKeyEnv
	}
	return s
}

// Scratch is a ring for what is thrown away, that reads the master key's backups; nil when no key is named.
func (k *KeySource) Scratch(ctx context.Context) (*seal.Ring, error) {
	s := k.Source()
	if !s.On() {
		return nil, nil
	}
	masters, err := s.Masters(ctx)
	if err != nil {
		return nil, err
	}
	return seal.Ephemeral(masters), nil
}
