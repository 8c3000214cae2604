package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestATokenOfTheEnvironment: the environment's token overrides that of the current context, but not that of a
// context named by a flag.
func TestATokenOfTheEnvironment(t *testing.T) {
	t.Setenv("CAIRN_CONTEXTS", filepath.Join(t.TempDir(), "contexts.json"))
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("of the context"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenContexts()
	if err != nil {
		t.Fatal(err)
	}
	c.All, c.Current = map[string]Context{"c": {Endpoints: []string{"a:1"}, TokenFile: file}}, "c"
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CAIRN_CONTEXT", "CAIRN_HOME", "CAIRN_ENDPOINTS", "CAIRN_TOKEN_FILE", "YQL_TOKEN"} {
		t.Setenv(name, "")
	}
	for _, tc := range []struct{ environ, args, want string }{
		{"", "", "of the context"},
		{"of the environment", "", "of the environment"},
		{"of the environment", "--context=c", "of the context"},
		{"of the environment", "--token=given", "given"},
	} {
		t.Setenv("CAIRN_TOKEN", tc.environ)
		var to Target
		v := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error {
			if got, err := to.Token(); got != tc.want || err != nil {
				t.Errorf("%+v: %q, %v", tc, got, err)
			}
			return nil
		}}
		to.Flags(v)
		v.SetArgs(strings.Fields(tc.args))
		if err := v.Execute(); err != nil {
			t.Error(err)
		}
	}
}

// TestContextsReplaceNoDevice: Save does not replace a device such as /dev/null, which disables contexts.
func TestContextsReplaceNoDevice(t *testing.T) {
	dir := t.TempDir()
	null := filepath.Join(dir, "null")
	if err := os.Symlink(os.DevNull, null); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAIRN_CONTEXTS", null)
	c, err := OpenContexts()
	if err != nil || len(c.All) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.Save(); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
	if to, err := os.Readlink(null); err != nil || to != os.DevNull {
		t.Errorf("it is %q now, %v", to, err)
	}
}
