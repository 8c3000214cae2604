package cairntest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/config"
)

// Command returns a cairn command that is not started yet.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, Binary(), args...)
	// Do not use the developer's contexts.
	c.Env = append(os.Environ(), AsCairn+"=1", "SHELL=/bin/sh", "CAIRN_CONTEXTS="+os.DevNull)
	return c
}

// FreePorts returns the first of n consecutive free ports. No other test of this process gets the same ports, so a
// stopped node can start again on them.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	base, err := config.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// StartDev runs `cairn dev` in a new home until the test ends.
func StartDev(t testing.TB) (*Node, string) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	return StartDevIn(t, home), home
}

// StartDevIn runs `cairn dev` in a given home, with additional flags, until the test ends.
func StartDevIn(t testing.TB, home string, flags ...string) *Node {
	t.Helper()
	p := &Node{T: t, Args: append([]string{"dev", "--home", home, "--port-base", fmt.Sprint(FreePorts(t, 6))}, flags...)}
	t.Cleanup(p.Kill)
	p.Launch()()
	return p
}

// Run runs a command to its end, and logs its stderr if it fails.
func Run(t testing.TB, args ...string) (stdout string, code int) {
	t.Helper()
	c := Command(t.Context(), args...)
	var errb bytes.Buffer
	c.Stderr = &errb
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code = c.ProcessState.ExitCode(); code != 0 {
		t.Logf("cairn %s: %s", strings.Join(args, " "), errb.String())
	}
	return string(out), code
}

// Tail returns the last n bytes of a text.
func Tail(s string, n int) string { return s[max(0, len(s)-n):] }

// RunForJSON runs a command and decodes its stdout. The exit code may be nonzero.
func RunForJSON[T any](t testing.TB, args ...string) (v T, code int) {
	t.Helper()
	out, code := Run(t, args...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("cairn %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return v, code
}
