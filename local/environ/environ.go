// Package environ is the environment of programs that run for clients: that of the node, without the node's own
// configuration and secrets. It reads the process's environment and changes nothing. stringd and process import it,
// which start such programs.
package environ

import (
	"os"
	"slices"
	"strings"
)

// prefixes of names that configure a node. All of them go, not those of secrets alone: a name that is new is safe, too.
var prefixes = []string{"CAIRN_", "YANTRIKDB_", "CLAUSTRUM_"}

// names in addition to those that are secrets.
var names = []string{"CLAUDE_RPC_TOKEN", "YQL_TOKEN"}

// Clean is the environment of such a program. A variable that [encryption] key_env names is no longer in the
// environment: the node removes it when it has read the key.
func Clean() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
}
