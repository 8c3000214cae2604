package serve

import (
	"errors"
	"os"

	"github.com/cairndb/cairn/cmd/cairn/config"
)

// secretVars are the environment variables that always contain secrets.
var secretVars = append(config.SecretVariables(), "CAIRN_TOKEN", "YQL_TOKEN")

// protectProcess prevents other processes of this user, such as programs that agents run, from reading this process's
// secrets. This process itself can read the variables until unsetVars.
func protectProcess(keyVar string) error {
	err := wipeEnviron(append([]string{keyVar}, secretVars...)) // first, because undumpable blocks it
	return errors.Join(err, undumpable())
}

// unsetVars removes secrets from the environment that child processes inherit.
func unsetVars(keyVar string) error {
	for _, name := range append([]string{keyVar}, secretVars...) {
		if name == "" {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return nil
}
