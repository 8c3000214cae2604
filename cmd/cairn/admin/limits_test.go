package admin

import (
	"io"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestLimitsAreSaid: without a burst, the limits name a second's worth of operations.
func TestLimitsAreSaid(t *testing.T) {
	for want, l := range map[string][3]uint32{
		"  operations a second on each node: no limit\n  memories in one request: no limit":                {0, 5, 0},
		"  operations a second on each node: at most 7, bursts of 7\n  memories in one request: at most 9": {7, 0, 9},
		"  operations a second on each node: at most 7, bursts of 20\n  memories in one request: no limit": {7, 20, 0},
	} {
		if got := formatLimits(l[0], l[1], l[2]); got != want {
			t.Errorf("%v: %q, want %q", l, got, want)
		}
	}
}

// TestBlankTokenFlags: a blank flag, for example from an unset variable in a script, is an error. Otherwise a token
// for one namespace would get access to the whole database.
func TestBlankTokenFlags(t *testing.T) {
	for _, flag := range []string{"--namespace", "--scope", "--trust", "--quarantine", "--expires"} {
		c := Token(&cli.Streams{Out: io.Discard, Err: io.Discard})
		c.SetArgs([]string{"create", "--endpoints", "127.0.0.1:1", flag + "="})
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.Execute(); err == nil || !strings.Contains(err.Error(), flag+" is blank") {
			t.Errorf("%s=: %v", flag, err)
		}
	}
}
