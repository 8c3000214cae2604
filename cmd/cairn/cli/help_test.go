package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpPutsConnectionsLast: connection flags are below the command's own flags.
func TestHelpPutsConnectionsLast(t *testing.T) {
	c := &cobra.Command{Use: "list", Example: "  list --limit 1", Run: func(*cobra.Command, []string) {}}
	var tg Target
	tg.Flags(c)
	c.Flags().Int("limit", 50, "most rows")
	c.Flags().Uint32("node-id", 0, "id of the node")
	c.Flags().Float64Slice("rate", nil, "requests a second")
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	if err := PrintUsage(c); err != nil {
		t.Fatal(err)
	}
	own, of, _ := strings.Cut(out.String(), "Connection flags:")
	for _, name := range connectionFlags {
		if strings.Contains(own, "--"+name+" ") || !strings.Contains(of, "--"+name+" ") {
			t.Errorf("--%s is not below the others:\n%s", name, out.String())
		}
	}
	for _, want := range []string{"Usage:\n  list", "\nExamples:\n  list --limit 1\n", "--limit int", "--json", "--node-id int    id of the node\n", "--rate numbers   requests a second\n"} {
		if !strings.Contains(own, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
