//go:build full || soak

package main

import (
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestScoresMeanWhatTheySay: of a list of facts that nothing was fitted on, a score is the share of rows like it that
// answer, to .08, and the first rows answer at least as many questions as they do today. What replaced a fact finds
// it.
func TestScoresMeanWhatTheySay(t *testing.T) {
	suite.NotShort(t, "ranks, one question after the other")
	t.Parallel()
	facts := figuresOf[factsReport](t, "facts")
	if facts.Questions != 120 || facts.Unanswered != 30 || facts.Off > .08 || facts.First < .74 || facts.Found < .95 {
		t.Errorf("facts: %+v", facts)
	}
	drift := figuresOf[driftReport](t, "drift")
	if drift.Updates != 300 || drift.Near < .9 || drift.First < .7 || drift.First < drift.Bleve {
		t.Errorf("drift: %+v", drift)
	}
}

// TestFactsHaveNoRelativeDates: the answers to the set's questions do not depend on the current day.
func TestFactsHaveNoRelativeDates(t *testing.T) {
	t.Parallel()
	questions, err := bench.ParseLines[bench.QueryLine](factQuestions)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		if text.ParseAskedTime(q.Query, time.Now().UnixMicro()).Relative {
			t.Errorf("%s %s: %q", q.Conv, q.Category, q.Query)
		}
	}
}
