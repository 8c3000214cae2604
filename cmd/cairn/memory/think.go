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
	thinkShown = 2 * time.Second  // rounds that are done by then show no progress
	thinkTold  = 10 * time.Second // between two lines of progress where there is no terminal
)

// think requests rounds of cognition until no memory is left unread, and prints what they found together.
func think(ctx context.Context, s *cli.Streams, t *cli.Target, v verb, given Given) error {
	sum := api.Thought{Triggers: []api.Attention{}, Read: new(int)}
	shown := thinkProgress{s: s, began: time.Now(), told: time.Now()}
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
		given["run_pattern_mining"], given["run_personality"] = []string{"false"}, []string{"false"} // the first round has seen to them
	}
	shown.end()
	return v.tell(s, t.JSON, kit.Must(sum))
}

// thinkProgress shows on stderr how many memories are left to read.
type thinkProgress struct {
	s           *cli.Streams
	began, told time.Time
	most        int                      // left so far
	bar         *progressbar.ProgressBar // nil until thinkShown
}

func (p *thinkProgress) show(left int) {
	p.most = max(p.most, left)
	if left == 0 || time.Since(p.began) < thinkShown {
		return
	}
	if p.bar == nil {
		p.bar, p.told = p.s.Count("memories", int64(p.most)), time.Time{}
	}
	_ = p.bar.Set(p.most - left) // a bar is not worth an error
	if !cli.IsTerminal(p.s.Err) && time.Since(p.told) > thinkTold {
		p.told = time.Now()
		fmt.Fprintf(p.s.Err, "left to read: %d of %s\n", left, api.Many(p.most, "memory", "memories"))
	}
}

func (p *thinkProgress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
