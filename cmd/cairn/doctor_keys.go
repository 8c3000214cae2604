package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cairndb/cairn/oplog/seal"
)

// encryption looks at the master key and the keyring, and changes neither.
func (e *exam) encryption(ctx context.Context) []finding {
	has, source := seal.Exists(e.cfg.Home), e.cfg.Encryption
	ailing := func(err error) []finding { return []finding{{"", ill, err.Error(), keyAdvice(err)}} }
	if !source.On() {
		if has {
			return ailing(fmt.Errorf("home %s is %w", e.cfg.Home, seal.ErrSealed))
		}
		return []finding{{"", well, "off: files below the home are plain", ""}}
	}
	masters, err := source.Masters(ctx)
	if err != nil {
		return ailing(err)
	}
	keys, err := seal.Load(e.cfg.Home, masters)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []finding{{"", well, "on for a home that is not made yet, under master key " + masters[0].ID().String(), ""}}
	case err != nil:
		return ailing(err)
	}
	said := fmt.Sprintf("master key %s, %d data keys, %s active", masters[0].ID(), len(keys.Keys()), keys.Active())
	if len(masters) > 1 {
		return []finding{{"", warn, said + fmt.Sprintf("; %d older master keys are still configured", len(masters)-1),
			"take them away once this node has started with the new one and no backup needs them"}}
	}
	return []finding{{"", well, said, ""}}
}

// keyAdvice says what to do about an error of encryption; empty for another error.
func keyAdvice(err error) string {
	switch {
	case errors.Is(err, seal.ErrSealed):
		return "name its master key: key_file, key_env or key_command in [encryption], --key-file, or CAIRN_ENCRYPTION_KEY_FILE"
	case errors.Is(err, seal.ErrPlain):
		return "`cairn key encrypt` encrypts the home of a stopped node; or give the node an empty home, and the others bring it up to date"
	case errors.Is(err, seal.ErrKey) && errors.Is(err, os.ErrNotExist):
		return "the file that should hold the master key is not there; `cairn key new --output FILE` makes one for a home that has none"
	case errors.Is(err, seal.ErrKey):
		return "put the key that fits there; when the master key was changed, the old one stays on a line below the new one until every node has started with both"
	}
	return ""
}

// keyHint says what to do about an error of encryption; another error gets the other hint, if there is one.
func keyHint(err error, other string) error {
	hint := cmp.Or(keyAdvice(err), other)
	if hint == "" {
		return err
	}
	return hinted{err, hint}
}
