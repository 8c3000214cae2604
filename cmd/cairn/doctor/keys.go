package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/seal"
)

// encryption looks at the master key and the keyring, and changes neither.
func (e *exam) encryption(ctx context.Context) []Finding {
	has, source := seal.Exists(e.cfg.Home), e.cfg.Storage.Encryption
	ailing := func(err error) []Finding { return []Finding{{"", Fail, err.Error(), config.KeyAdvice(err)}} }
	if !source.On() {
		if has {
			return ailing(fmt.Errorf("home %s is %w", e.cfg.Home, seal.ErrSealed))
		}
		return []Finding{{"", OK, "off: files below the home are plain", ""}}
	}
	masters, err := source.Masters(ctx)
	if err != nil {
		return ailing(err)
	}
	keys, err := seal.Load(e.cfg.Home, masters)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return []Finding{{"", OK, "on, for a home that does not exist yet, under master key " + masters[0].ID().String(), ""}}
	case err != nil:
		return ailing(err)
	}
	said := fmt.Sprintf("master key %s, %d data keys, %s active", masters[0].ID(), len(keys.Keys()), keys.Active())
	if len(masters) > 1 {
		return []Finding{{"", Warn, said + fmt.Sprintf("; %d older master keys are still configured", len(masters)-1),
			"take them away once this node has started with the new one and no backup needs them"}}
	}
	return []Finding{{"", OK, said, ""}}
}
