package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestCompletionReachesIPv6: completion queries the node in the flags, also by an IPv6 address in brackets.
func TestCompletionReachesIPv6(t *testing.T) {
	c := &cobra.Command{}
	(&Target{}).Flags(c)
	for flag, value := range map[string]string{"endpoints": "[::1]:7437,[::1]:7447", "home": "[a]"} {
		if err := c.Flags().Set(flag, value); err != nil {
			t.Fatal(err)
		}
	}
	got, err := typedTarget(c)
	if err != nil || got.Home != "[a]" || !slices.Equal(got.Endpoints, []string{"[::1]:7437", "[::1]:7447"}) {
		t.Errorf("%+v, %v", got, err)
	}
}
