package shell

import (
	"maps"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestAShellReachesTheNodeOfItsFlags: a shell's flags override the environment, also with IPv6 addresses.
func TestAShellReachesTheNodeOfItsFlags(t *testing.T) {
	for _, c := range []struct {
		of    cli.Target
		given []string
		want  map[string]string
	}{
		{cli.Target{Endpoints: []string{"[::1]:7437", "[::1]:7447"}}, []string{"endpoints"},
			map[string]string{"CAIRN_ENDPOINTS": "[::1]:7437,[::1]:7447", "CAIRN_CONTEXT": ""}},
		{cli.Target{Home: "[a]", Endpoints: []string{"other:7437"}}, []string{"home"},
			map[string]string{"CAIRN_HOME": "[a]", "CAIRN_ENDPOINTS": "", "CAIRN_CONTEXT": ""}},
		{cli.Target{ContextName: "prod", Home: "a", TokenFile: "prod.token", CA: "ca.crt"}, []string{"home", "context"},
			map[string]string{"CAIRN_HOME": "a", "CAIRN_ENDPOINTS": "", "CAIRN_CONTEXT": "",
				"CAIRN_TOKEN_FILE": "prod.token", "CAIRN_CA": "ca.crt", "CAIRN_TLS": ""}},
		{cli.Target{TokenText: "secret", TokenFile: "other"}, []string{"token"},
			map[string]string{"CAIRN_TOKEN": "secret", "CAIRN_TOKEN_FILE": ""}},
		{cli.Target{Home: "cairn-data", TLS: true}, nil, map[string]string{"CAIRN_TLS": "1"}},
		{cli.Target{Home: "cairn-data"}, []string{"tls"}, map[string]string{"CAIRN_TLS": ""}},
	} {
		is := map[string]bool{}
		for _, flag := range c.given {
			is[flag] = true
		}
		if got := environ(&c.of, func(flag string) bool { return is[flag] }); !maps.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.given, got, c.want)
		}
	}
}
