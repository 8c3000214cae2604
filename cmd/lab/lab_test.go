//go:build full || soak

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/lab/trial"
	"github.com/cairndb/cairn/oplog/suite"
)

// asLab in the environment makes the test binary the lab, so that its tests run it as a process: figures of memory
// are the lab's alone.
const asLab = "CAIRN_TEST_BE_LAB"

func TestMain(m *testing.M) {
	if os.Getenv(asLab) != "" {
		main()
	}
	os.Exit(m.Run())
}

// labCommand returns a call of the lab that is not started yet.
func labCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), asLab+"=1")
	return c
}

// figuresOf runs a verb of the lab and returns its report.
func figuresOf[R any](t *testing.T, args ...string) (r R) {
	t.Helper()
	var said bytes.Buffer
	c := labCommand(t.Context(), append(args, "--json")...)
	c.Stderr = &said
	out, err := c.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("lab %v: %v\n%s%s", args, err, out, cairntest.Tail(said.String(), 4000))
	}
	return r
}

// TestSurfaces measures every protocol for a short time: each answers without rejections.
func TestSurfaces(t *testing.T) {
	suite.NotShort(t, "measures")
	t.Parallel()
	r := figuresOf[bench.LoadReport](t, "surfaces", "--cairn", cairntest.Binary(), "--clients", "2", "--warm-up", "0s", "--for", "200ms")
	if len(r.Runs) != len(dialects) {
		t.Fatalf("got %+v", r)
	}
	for _, n := range r.Runs {
		if n.Requests == 0 || n.Failed > 0 {
			t.Errorf("%s: %d answered, %d failed", n.Workload, n.Requests, n.Failed)
		}
	}
}

// TestFailover: a gap is measured, and writes continue after it.
func TestFailover(t *testing.T) {
	t.Parallel()
	r := figuresOf[failoverReport](t, "failover", "--cairn", cairntest.Binary(), "--rounds", "1", "--heartbeat-ms", "50",
		"--election-ms", "300")
	if len(r.Rounds) != 1 {
		t.Fatalf("got %+v", r)
	}
	if r.Max <= 0 || r.Median != r.Max || r.Writes == 0 || r.Rounds[0].Leader == 0 {
		t.Errorf("got %+v", r)
	}
}

// TestFollowers: each turn writes, and the followers answer.
func TestFollowers(t *testing.T) {
	t.Parallel()
	suite.NotShort(t, "measures, which the race detector falsifies")
	r := figuresOf[followersReport](t, "followers", "--cairn", cairntest.Binary(), "--reads", "50", "--rounds", "1",
		"--clients", "1", "--for", "300ms")
	if len(r.Runs) != 1 {
		t.Fatalf("got %+v", r)
	}
	n := r.Runs[0]
	for i, f := range []trial.Figures{n.Alone, n.Stray, n.Beside} {
		if f.P50 <= 0 || f.Rate <= 0 {
			t.Errorf("%s: %+v", turnNames[i], f)
		}
	}
	if n.Recalls <= 0 || n.ToAlone.P50 <= 0 || n.ToStray.P50 <= 0 {
		t.Errorf("got %+v", r)
	}
}

// TestRestart: the node answers after SIGTERM and after SIGKILL.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := figuresOf[restartReport](t, "restart", "--cairn", cairntest.Binary(), "--size", "200")
	if len(r.Starts) != 2 {
		t.Fatalf("got %+v", r)
	}
	for _, s := range r.Starts {
		if s.Read <= 0 || s.Ready <= 0 {
			t.Errorf("got %+v", s)
		}
	}
}

// TestSnapshot: writes continue during a snapshot and a backup without failures.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	r := figuresOf[snapshotReport](t, "snapshot", "--size", "2000", "--rounds", "1", "--clients", "2", "--rate", "500", "--for", "200ms")
	if len(r.Runs) != 3 {
		t.Fatalf("got %+v", r)
	}
	for _, n := range r.Runs {
		if n.Writes == 0 || n.Failed > 0 || n.Ratio <= 0 {
			t.Errorf("%+v", n)
		}
	}
}

func TestPausesAreThoseOfTheTimeBetween(t *testing.T) {
	before := pauses{Counts: []float64{5, 1, 0}, Bounds: []float64{0, .001, .002, math.Inf(1)}}
	after := pauses{Counts: []float64{104, 1, 1}, Bounds: before.Bounds}
	if got, want := after.since(before), (pauseReport{Count: 100, P99: 1, Max: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	now := readPauses()
	runtime.GC()
	if got := readPauses().since(now); got.Count == 0 || got.Max <= 0 {
		t.Errorf("a collection was not seen: %+v", got)
	}
}
