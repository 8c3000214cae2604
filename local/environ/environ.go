// Package environ provides the environment of programs that run for clients: that of the node, without the node's own
// configuration and secrets. It reads the environment of the process and changes nothing.
package environ

import (
	"os"
	"slices"
	"strings"
)

// removedPrefixes are the prefixes of variables that configure a node. All such variables are removed, not only known
// secrets, so that a new variable is safe too.
var removedPrefixes = []string{"CAIRN_", "YANTRIKDB_", "CLAUSTRUM_"}

// removedNames are further variables to remove.
var removedNames = []string{"CLAUDE_RPC_TOKEN", "YQL_TOKEN"}

// Clean returns the environment. The variable that [encryption] key_env names is not in it: the node removes it after
// it has read the key.
func Clean() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(removedNames, name) || slices.ContainsFunc(removedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}
