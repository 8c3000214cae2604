package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/oplog/seal"
)

// keySource is the flag of commands that work without a configuration: where the master key is.
type keySource struct{ file string }

func (k *keySource) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.file, "key-file", "", "file with the master key of an encrypted home or backup; see \"cairn key --help\"")
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
