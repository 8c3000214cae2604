package serve

import (
	"errors"
	"os"

	"github.com/cairndb/cairn/cmd/cairn/config"
)

// secretVars are variables of the environment whose values are secrets, whatever a configuration says.
var secretVars = append(config.SecretVariables(), "CAIRN_TOKEN", "YQL_TOKEN")

// closeProcess keeps what other processes of this user could read of this one from them: programs that agents run are
// such processes. The variables stay known to this process until forgetVars.
func closeProcess(keyVar string) error {
	err := wipeEnviron(append([]string{keyVar}, secretVars...)) // first: it needs what the other step closes
	return errors.Join(err, undumpable())
}

// forgetVars takes secrets out of what child processes inherit.
func forgetVars(keyVar string) error {
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
