package cairntest

import (
	"encoding/json"
	"strings"
	"testing"
)

// JSONOf runs a command that prints JSON.
func JSONOf[T any](t testing.TB, args ...string) (v T) {
	t.Helper()
	out, code := Run(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); code != 0 || err != nil {
		t.Fatalf("cairn %s: exit %d, %v: %s", strings.Join(args, " "), code, err, out)
	}
	return v
}

// RunForJSON is for commands that print and fail.
func RunForJSON[T any](t testing.TB, args ...string) (v T, code int) {
	t.Helper()
	out, code := Run(t, args...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("cairn %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return v, code
}
