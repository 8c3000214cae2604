package suite

import (
	"context"
	"flag"
	"strconv"
	"testing"
	"time"
)

// The suites, each of which has the tests of those before it.
const (
	byDefault = iota
	inFull
	inSoak
)

// Full skips a test, or a subtest, that only the full suite runs.
func Full(t testing.TB) {
	t.Helper()
	if level < inFull {
		t.Skip("part of the full suite: go test -tags full")
	}
}

// NotShort skips a test in -short, which the race detector's run sets, and says why.
func NotShort(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in -short: " + why)
	}
}

// Count returns how often a test repeats itself, or how large it makes things, in the suite that runs.
func Count(quick, full, soak int) int {
	return [...]int{byDefault: quick, inFull: full, inSoak: soak}[level]
}

// Checks bounds, in the default suite, how many cases each test of rapid draws; -rapid.checks on the command line
// wins. A package calls it from TestMain.
func Checks(quick int) {
	const name = "rapid.checks"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if level > byDefault || given {
		return
	}
	if err := flag.Set(name, strconv.Itoa(quick)); err != nil {
		panic("suite: " + err.Error())
	}
}

// Patience bounds every wait of a test. A busy machine needs a fraction of it; a test that waits longer hangs.
const Patience = 3 * time.Minute

// Eventually waits until a condition holds. It fails the test, naming what was waited for, when Patience ends first.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !Within(Patience, holds) {
		t.Fatalf("waited %s for %s", Patience, what)
	}
}

// Within polls a condition until it holds or a time has passed, and reports whether it held.
func Within(d time.Duration, holds func() bool) bool {
	pause := time.Millisecond
	for deadline := time.Now().Add(d); !holds(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			return false
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
	return true
}

// Receive waits for a value on a channel, or for the channel's end. It fails the test, naming what was waited for,
// when Patience ends first.
func Receive[T any](t testing.TB, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(Patience):
		t.Fatalf("waited %s for %s", Patience, what)
	}
	return v
}

// Context returns the test's context, which ends with Patience at the latest.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}
