package config

import (
	"cmp"
	"errors"
	"os"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/seal"
)

// KeyAdvice says what to do about an error of encryption; empty for another error.
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
	case errors.Is(err, seal.ErrKey):
		return "configure the master key that this home was encrypted under; after a change, keep the old master key on a line below the new one until every node has started with both"
	}
	return ""
}

// KeyHint says what to do about an error of encryption; another error gets the other hint, if there is one.
func KeyHint(err error, other string) error {
	advice := cmp.Or(KeyAdvice(err), other)
	if advice == "" {
		return err
	}
	return cli.Hint(err, advice)
}
