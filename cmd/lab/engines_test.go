//go:build full || soak

package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/bench"
)

// TestEngines: engines in files and in memory find texts with a question's words only in the question's conversation.
func TestEngines(t *testing.T) {
	t.Parallel()
	for name, open := range searchEngines {
		for _, where := range []string{"memory", "files"} {
			t.Run(name+" in "+where, func(t *testing.T) {
				t.Parallel()
				needsEngine(t, name)
				dir := ""
				if where == "files" {
					dir = t.TempDir()
				}
				e, err := open(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range [][3]string{{"a", "1", `the "boats" of set a`}, {"a", "2", "a car"}, {"b", "3", "another boat"}} {
					if err := e.add(text[0], text[1], text[2]); err != nil {
						t.Fatal(err)
					}
				}
				for conv, want := range map[string][]string{"a": {"1"}, "b": {"3"}, "c": nil} {
					if ids, took, err := e.ask(conv, `"boat", rowing`, 5); err != nil || !slices.Equal(ids, want) ||
						len(want) > 0 && took <= 0 {
						t.Errorf("%s has %q, %v, %v, want %q", conv, ids, took, err, want)
					}
				}
				if err := e.close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// needsEngine skips the test if an engine is not available: fts5 needs Python.
func needsEngine(t *testing.T, name string) {
	t.Helper()
	if name != "fts5" {
		return
	}
	if out, err := exec.Command("python3", "-c",
		"import sqlite3; sqlite3.connect(':memory:').execute('create virtual table t using fts5(x)')").CombinedOutput(); err != nil {
		t.Skipf("skipped: no python3 with an SQLite that has FTS5: %v\n%s", err, out)
	}
}

// TestSpeedAgainst: each engine has a row for each kind of words, and what --against cannot do is said before
// anything is loaded.
func TestSpeedAgainst(t *testing.T) {
	t.Parallel()
	needsEngine(t, "fts5")
	args := []string{"recall", "--size", "600", "--dim", "8", "--asks", "10", "--against"}
	r := figuresOf[speedAgainst](t, append(args, "fts5,bleve")...)
	if len(r.Runs) != 5 || len(r.Against) != 4 || r.First <= 0 || r.Last <= 0 || r.DiskBytes <= 0 {
		t.Fatalf("got %+v", r)
	}
	for _, n := range r.Against {
		if n.P50 <= 0 || n.P99 < n.P50 || n.Low <= 0 || n.Ratio < n.Low || n.High < n.Ratio {
			t.Errorf("got %+v", n)
		}
	}
	without := labCommand(t.Context(), append(args, "fts5")...)
	without.Env = append(without.Environ(), "PATH="+t.TempDir())
	for want, c := range map[string]*exec.Cmd{
		"asks the SQLite of Python's library": without,
		"takes bleve and fts5":                labCommand(t.Context(), append(args, "google")...),
		"is for one client":                   labCommand(t.Context(), append(args, "bleve", "--clients", "2")...),
	} {
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v, %s, want an error with %q", err, out, want)
		}
	}
}

// TestRecallAgainstBleve: stock Bleve is asked every question of a set too.
func TestRecallAgainstBleve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	corpus, queries := filepath.Join(dir, "corpus"), filepath.Join(dir, "queries")
	for path, lines := range map[string]string{
		corpus:  `{"conv":"c","id":"1","speaker":"ann","text":"the boat"} {"conv":"c","id":"2","speaker":"bob","text":"a car"}`,
		queries: `{"conv":"c","qid":"q","category":"x","query":"boats","evidence":["1"]}`,
	} {
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := figuresOf[bench.RecallReport](t, "recall", "--corpus", corpus, "--queries", queries, "--against", "bleve")
	if len(r.Sets) != 1 || r.Sets[0].Memories != 2 || len(r.Sets[0].Against) != 3 {
		t.Fatalf("got %+v", r)
	}
	for _, d := range r.Sets[0].Against {
		if d.Peer != "bleve" || d.Ours != 1 || d.Theirs != 1 || d.Mean != 0 {
			t.Errorf("got %+v", d)
		}
	}
}

// TestRatios: constant ratios of two have the mean two and an empty interval; ratios of a half and two have the mean
// one and a wide interval.
func TestRatios(t *testing.T) {
	if mean, low, high := ratios([]float64{2, 4, 6}, []float64{1, 2, 3}); math.Abs(mean-2) > 1e-9 || high-low > 1e-9 {
		t.Errorf("got %v, %v to %v", mean, low, high)
	}
	if mean, low, high := ratios([]float64{2, 1, 2, 1}, []float64{1, 2, 1, 2}); math.Abs(mean-1) > 1e-9 || low > .6 || high < 1.6 {
		t.Errorf("got %v, %v to %v", mean, low, high)
	}
}
