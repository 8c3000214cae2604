package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// driftLines holds 300 statements, each with its replacement some months later and a question about the current
// state.
//
//go:embed sets/drift.jsonl
var driftLines []byte

type driftLine struct {
	Conv     string           `json:"conv"`
	ID       string           `json:"id"`
	Old, New bench.CorpusLine // of Time and Text
	Query    string           `json:"query"`
}

// driftReport holds shares of all updates.
type driftReport struct {
	Updates int     `json:"updates"`
	Near    float64 `json:"old_found_by_new"`    // the old text is the first result for the new text, before that is stored
	First   float64 `json:"current_first"`       // the new text is the first row
	Bleve   float64 `json:"bleve_current_first"` // the same of stock Bleve
	Before  float64 `json:"current_before_old"`  // the new text is found, and before the old one
	Stale   float64 `json:"stale_in_first_five"` // the old text is among five

	Unmarked float64 `json:"stale_unmarked_in_first_five"` // and is not marked as old
	Marks    int     `json:"marks"`                        // in the first five rows of all answers
	Misled   int     `json:"wrong_marks"`                  // of them, marks that name a wrong replacement
	Wrong    int     `json:"wrongly_superseded"`           // statements superseded by a wrong one

	Thought driftThought `json:"after_think"`
}

// driftThought holds results after a round of THINK.
type driftThought struct {
	Conflicts int     `json:"conflicts"`
	First     float64 `json:"current_first"`
	Unmarked  float64 `json:"stale_unmarked_in_first_five"` // the old text is among five and not marked as old
}

type driftBench struct{}

var driftVerb = bench.Bench{
	Use: "drift", Short: "Store what changed beside what it changed, and say which of the two is told",
	Start: func() bench.Measurement { return driftBench{} },
	Long: `Store 300 statements and what replaced each of them as memories of their own, ask for what holds now, and report how often the
current statement is told first and the old one at all, with stock Bleve beside it.`,
	Example: "  go run ./cmd/lab drift",
}

func (driftBench) Flags(*cobra.Command) {}

func (driftBench) Run(ctx context.Context, l *bench.Rig) (bench.Report, error) {
	lines, err := bench.ParseLines[driftLine](driftLines)
	if err != nil {
		return nil, err
	}
	var was, is []bench.CorpusLine
	for _, d := range lines {
		d.Old.Conv, d.Old.ID, d.New.Conv, d.New.ID = d.Conv, d.ID+" old", d.Conv, d.ID+" new"
		was, is = append(was, d.Old), append(is, d.New)
	}
	r := &driftReport{Updates: len(lines)}
	share := 1 / float64(len(lines))
	cl, ids, err := storeLines(ctx, l, was)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		if got, _, err := firstFive(ctx, cl, ids, lines[i].Conv, is[i].Text); err != nil {
			return nil, err
		} else if len(got) > 0 && got[0] == was[i].ID {
			r.Near += share
		}
	}
	for i := range is { // one by one, as people and agents store them
		m := is[i].Memory()
		m.MemoryType = "semantic"
		rid, err := cl.Remember(ctx, m)
		if err != nil {
			return nil, err
		}
		ids[rid] = is[i].ID
	}
	peer, err := openPeer(ctx, l, "bleve", slices.Concat(was, is))
	if err != nil {
		return nil, err
	}
	add := func(to *float64, holds bool) {
		if holds {
			*to += share
		}
	}
	for i, d := range lines {
		got, marked, err := firstFive(ctx, cl, ids, d.Conv, d.Query)
		theirs, err2 := peer(bench.QueryLine{Conv: d.Conv, Query: d.Query}, 5)
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		old, current := slices.Index(got, was[i].ID), slices.Index(got, is[i].ID)
		add(&r.First, current == 0)
		add(&r.Bleve, len(theirs) > 0 && theirs[0] == is[i].ID)
		add(&r.Before, current >= 0 && (old < 0 || current < old))
		add(&r.Stale, old >= 0)
		add(&r.Unmarked, old >= 0 && marked[old] == "")
		r.count(got, marked)
	}
	if r.Wrong, err = wronglySuperseded(ctx, cl, ids); err != nil {
		return nil, err
	}
	return r, r.think(ctx, cl, ids, lines)
}

// think runs THINK to find contradictions, and asks the questions again.
func (r *driftReport) think(ctx context.Context, cl *client.Client, ids map[string]string, lines []driftLine) error {
	thought, err := cl.Think(ctx, wire.Think{RunConflictScan: true})
	if err != nil {
		return err
	}
	r.Thought.Conflicts = int(thought.ConflictsFound)
	first, unmarked := 0, 0
	for _, d := range lines {
		got, marked, err := firstFive(ctx, cl, ids, d.Conv, d.Query)
		if err != nil {
			return err
		}
		if slices.Index(got, d.ID+" new") == 0 {
			first++
		}
		if old := slices.Index(got, d.ID+" old"); old >= 0 && marked[old] == "" {
			unmarked++
		}
	}
	r.Thought.First, r.Thought.Unmarked = float64(first)/float64(len(lines)), float64(unmarked)/float64(len(lines))
	return nil
}

// storeLines stores lines on a new node, and returns the line's id for each rid.
func storeLines(ctx context.Context, l *bench.Rig, lines []bench.CorpusLine) (*client.Client, map[string]string, error) {
	c, err := l.Cluster(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	cl, err := l.Dial(ctx, c.Client)
	if err != nil {
		return nil, nil, err
	}
	ids := map[string]string{}
	return cl, ids, storeFacts(ctx, l, cl, lines, ids)
}

// storeFacts stores lines as facts instead of turns of a dialogue, and adds their ids to ids.
func storeFacts(ctx context.Context, l *bench.Rig, cl *client.Client, lines []bench.CorpusLine, ids map[string]string) error {
	stored := 0
	_, err := bench.Store(ctx, l.Streams, cl, len(lines), func(i int) wire.Remember {
		m := lines[i].Memory()
		m.MemoryType = "semantic"
		return m
	}, func(rids []string) {
		for _, rid := range rids {
			ids[rid] = lines[stored].ID
			stored++
		}
	})
	return err
}

// wronglySuperseded counts the statements that were superseded by a wrong one.
func wronglySuperseded(ctx context.Context, cl *client.Client, ids map[string]string) (wrong int, err error) {
	resolved := "resolved"
	list, err := cl.Conflicts(ctx, wire.Conflicts{Status: &resolved, Limit: 1000})
	for _, c := range list {
		if a, b := ids[c.MemoryA], ids[c.MemoryB]; strings.TrimSuffix(a, " old") != strings.TrimSuffix(b, " new") {
			wrong++
		}
	}
	return wrong, err
}

// count counts the marks of an answer, and the wrong ones.
func (r *driftReport) count(got, marked []string) {
	for i, by := range marked {
		if by == "" {
			continue
		}
		if r.Marks++; strings.TrimSuffix(got[i], " old") != strings.TrimSuffix(by, " new") {
			r.Misled++
		}
	}
}

// firstFive returns the line ids of the first five results, and for each the line that its mark names; blank without
// a mark.
func firstFive(ctx context.Context, cl *client.Client, ids map[string]string, conv, question string) (got, marked []string, err error) {
	q := wire.NewRecall(question)
	q.TopK, q.Namespace, q.SkipReinforce, q.MinScore = 5, &conv, true, new(float64)
	found, _, err := cl.Recall(ctx, q)
	for _, m := range found {
		got = append(got, ids[m.RID])
		by := ""
		for _, why := range m.WhyRetrieved {
			for _, mark := range []string{"contradicts ", "superseded by ", "perhaps outdated by "} {
				if rid, ok := strings.CutPrefix(why, mark); ok {
					rid, _, _ = strings.Cut(rid, ",")
					by = ids[rid]
				}
			}
		}
		marked = append(marked, by)
	}
	return got, marked, err
}

func (r *driftReport) Print(a *cli.Streams) error {
	for _, f := range []struct {
		name  string
		share float64
	}{
		{"the old text is first for the new one, before that is stored", r.Near}, {"the current text is first", r.First},
		{"  of stock Bleve", r.Bleve},
		{"the current text comes before the old one", r.Before}, {"the old text is among five", r.Stale},
		{fmt.Sprintf("  unmarked (of %d marks %d name another one; %d are superseded by another one)", r.Marks, r.Misled, r.Wrong),
			r.Unmarked},
		{fmt.Sprintf("after THINK, which finds %d contradictions: the current text is first", r.Thought.Conflicts), r.Thought.First},
		{"  the old text is among five, unmarked", r.Thought.Unmarked},
	} {
		fmt.Fprintf(a.Out, "%-75s %.3f\n", f.name, f.share)
	}
	return nil
}
