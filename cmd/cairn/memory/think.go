package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
)

const (
	thinkProgressAfter = 2 * time.Second  // delay before progress is shown
	thinkLineEvery     = 10 * time.Second // interval of progress lines without a terminal
)

// think requests rounds of thinking until every memory was read, and prints the sum of their results.
func think(ctx context.Context, s *cli.Streams, t *cli.Target, v verb, given Given) error {
	sum := api.Thought{Triggers: []api.Attention{}, Read: new(int)}
	shown := thinkProgress{s: s, began: time.Now(), printedAt: time.Now()}
	for left := 1; left > 0; {
		var a api.Thought
		if err := v.get(ctx, t, given, &a); err != nil {
			shown.end()
			return err
		}
		sum.Merged, sum.Conflicts, sum.New, sum.Updated = sum.Merged+a.Merged, sum.Conflicts+a.Conflicts, sum.New+a.New, sum.Updated+a.Updated
		sum.Personality, sum.Millis, sum.Triggers = sum.Personality ||
			a.Personality, sum.Millis+a.Millis, append(sum.Triggers, a.Triggers...)
		sum.Remaining, left = a.Remaining, 0
		if a.Read != nil && a.Remaining != nil {
			*sum.Read, left = *sum.Read+*a.Read, *a.Remaining
		}
		shown.show(left)
		given["run_pattern_mining"], given["run_personality"] = []string{"false"}, []string{"false"} // once is enough: done in the first round
	}
	shown.end()
	return v.printAnswer(s, t.JSON, kit.MustJSON(sum))
}

// thinkProgress prints on stderr how many memories are left to read.
type thinkProgress struct {
	s                *cli.Streams
	began, printedAt time.Time
	total            int                      // largest number left so far
	bar              *progressbar.ProgressBar // nil until thinkProgressAfter
}

func (p *thinkProgress) show(left int) {
	p.total = max(p.total, left)
	if left == 0 || time.Since(p.began) < thinkProgressAfter {
		return
	}
	if p.bar == nil {
		p.bar, p.printedAt = p.s.Count("memories", int64(p.total)), time.Time{}
	}
	_ = p.bar.Set(p.total - left) // ignore errors of the bar
	if !cli.IsTerminal(p.s.Err) && time.Since(p.printedAt) > thinkLineEvery {
		p.printedAt = time.Now()
		fmt.Fprintf(p.s.Err, "left to read: %d of %s\n", left, api.Many(p.total, "memory", "memories"))
	}
}

func (p *thinkProgress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
