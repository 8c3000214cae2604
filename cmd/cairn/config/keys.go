package config

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/seal"
)

// KeySource is the flag --key-file, the source of the master key for commands without a configuration.
type KeySource struct{ file string }

// Flags adds --key-file.
func (k *KeySource) Flags(c *cobra.Command) {
	c.Flags().StringVar(&k.file, "key-file", "", "file with the master key of an encrypted home or backup; see \"cairn key --help\"")
}

// Set reports whether the flag was given.
func (k *KeySource) Set() bool { return k.file != "" }

// Source returns the flag's file, or else the source in the environment variables that a configuration also uses.
func (k *KeySource) Source() seal.Source {
	if k.Set() {
		return seal.Source{File: k.file}
	}
	s := seal.Source{File: os.Getenv("CAIRN_ENCRYPTION_KEY_FILE"), Env: os.Getenv("CAIRN_ENCRYPTION_KEY_ENV"),
		Command: os.Getenv("CAIRN_ENCRYPTION_KEY_COMMAND")}
	if !s.Enabled() && os.Getenv(HexKeyEnv) != "" {
		s.Env = HexKeyEnv
	}
	return s
}

// EphemeralRing returns a key ring for temporary files that can also read backups under the master key; nil without a
// master key.
func (k *KeySource) EphemeralRing(ctx context.Context) (*seal.Ring, error) {
	s := k.Source()
	if !s.Enabled() {
		return nil, nil
	}
	masters, err := s.Masters(ctx)
	if err != nil {
		return nil, err
	}
	return seal.Ephemeral(masters), nil
}

// KeyAdvice returns the advice for an encryption error; blank for other errors.
func KeyAdvice(err error) string {
	switch {
	case errors.Is(err, seal.ErrSealed):
		return "name its master key: key_file, key_env or key_command in [encryption], --key-file, or CAIRN_ENCRYPTION_KEY_FILE"
	case errors.Is(err, seal.ErrPlain):
		return "`cairn key encrypt` encrypts the home of a stopped node; or give the node an empty home, and the others bring it up to date"
	case errors.Is(err, seal.ErrKeyring):
		return "copy the file keyring back from a copy of the home; if there is none, start the member with an empty home, and the others bring it up to date, or `cairn restore` a backup into an empty home, which needs only the master key"
	case errors.Is(err, seal.ErrKey) && errors.Is(err, os.ErrNotExist):
		return "the file that should hold the master key is not there; `cairn key new --output FILE` makes one for a home that has none"
	case errors.Is(err, seal.ErrUnread):
		return "the key comes from key_file, key_env or key_command in [encryption], from --key-file or CAIRN_ENCRYPTION_KEY_FILE: 32 bytes in hex or base64 on a line, and of a file that others cannot read"
	case errors.Is(err, seal.ErrKey):
		return "configure the master key that this home was encrypted under; after a change, keep the old master key on a line below the new one until every node has started with both"
	}
	return ""
}

// KeyHint adds advice to an encryption error, and the hint other, unless it is blank, to other errors.
func KeyHint(err error, other string) error {
	advice := cmp.Or(KeyAdvice(err), other)
	if advice == "" {
		return err
	}
	return cli.Hint(err, advice)
}
