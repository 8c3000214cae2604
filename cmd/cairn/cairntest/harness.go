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

// Command is a call of cairn that has not started.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, Binary(), args...)
	c.Env = append(os.Environ(), AsCairn+"=1", "SHELL=/bin/sh", "CAIRN_CONTEXTS="+os.DevNull) // not the user's own
	return c
}

// FreePorts is the first of n free ports in a row. No other test of this process gets them: a node that is down can
// start again on its own.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	base, err := config.FreeRow(n)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// StartDev runs `cairn dev` in its own home until the test ends.
func StartDev(t testing.TB) (*Node, string) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	return StartDevIn(t, home), home
}

// StartDevIn does so in a home that is given, with flags in addition to those of its place.
func StartDevIn(t testing.TB, home string, flags ...string) *Node {
	t.Helper()
	p := &Node{T: t, Args: append([]string{"dev", "--home", home, "--port-base", fmt.Sprint(FreePorts(t, 6))}, flags...)}
	t.Cleanup(p.Kill)
	p.Launch()()
	return p
}

// Run runs a command to its end.
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

// TailOf is the end of a text.
func TailOf(s string, n int) string { return s[max(0, len(s)-n):] }

// RunForJSON is for commands that print and fail.
func RunForJSON[T any](t testing.TB, args ...string) (v T, code int) {
	t.Helper()
	out, code := Run(t, args...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("cairn %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return v, code
}
