package simulation

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// subscriber follows the events of one gateway after another. When its connection breaks, it continues at another
// node, after the last record of which it has heard all events.
type subscriber struct {
	c       *cluster
	rng     *rand.Rand
	cursor  string   // id of the last complete record
	heard   []string // events up to the cursor
	pending []string // events of a record whose id has not come yet
}

// lastRID is the id of the memory that is stored last: a subscriber that has heard of it has heard everything.
const lastRID = "the-last-one"

// run follows the nodes until it has heard of the last memory.
func (s *subscriber) run(ctx context.Context) {
	for ctx.Err() == nil && !s.done() {
		s.follow(ctx, 1+s.rng.IntN(len(s.c.nodes)))
		pause(ctx, time.Duration(s.rng.IntN(300))*time.Millisecond)
	}
}

func (s *subscriber) done() bool {
	return len(s.heard) > 0 && strings.HasSuffix(s.heard[len(s.heard)-1], lastRID)
}

// follow reads the events of one node until its connection breaks or a few seconds have passed.
func (s *subscriber) follow(ctx context.Context, n int) {
	s.pending = nil
	nc, err := s.c.net.dial(ctx, 90, fmt.Sprintf("node%d:7438", n), nil)
	if err != nil {
		return
	}
	defer nc.Close()
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer stop()
	_ = nc.SetDeadline(time.Now().Add(time.Duration(1+s.rng.IntN(8)) * time.Second))
	from := s.cursor
	if from == "" {
		from = "1"
	}
	if _, err := fmt.Fprintf(nc, "GET /v1/events?from=%s HTTP/1.0\r\nHost: node%d\r\nAuthorization: Bearer %s\r\n\r\n", from,
		n, secret); err != nil {
		return
	}
	var id, name string
	for lines := bufio.NewScanner(nc); lines.Scan() && !s.done(); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			s.event(id, name, value)
			id, name = "", ""
		}
	}
}

// event keeps an event of the log. It ignores those about leaders and about the start of the subscription.
func (s *subscriber) event(id, name, data string) {
	var e struct {
		Index, Number int
		ID            string
	}
	if err := json.Unmarshal([]byte(data), &e); err != nil || e.ID == "" {
		if name == "lagged" {
			s.pending = append(s.pending, "lagged")
		}
		return
	}
	s.pending = append(s.pending, fmt.Sprintf("%d/%d %s %s", e.Index, e.Number, name, e.ID))
	if id != "" {
		s.heard, s.cursor, s.pending = append(s.heard, s.pending...), id, nil
	}
}

// checkEvents reads the events of every node from the beginning, and compares them with each other and with those
// that the subscribers heard during the run. All must be the same, in the same order. Only where the log of a node
// begins late, because the node installed a snapshot or lost its log, events are missing, and an event "lagged" must
// mark the place.
func (c *cluster) checkEvents(ctx context.Context, subscribers []*subscriber) {
	heard, late := map[string][]string{}, false
	for i := range c.nodes {
		if c.node(i) == nil {
			continue
		}
		all := &subscriber{c: c, rng: rand.New(rand.NewPCG(uint64(i), 9))}
		for tries := 0; !all.done() && tries < 20; tries++ {
			all.follow(ctx, i+1)
		}
		var begins oplog.Index
		var trimmed bool
		c.readState(i, func(v *state.View, db oplog.DB) error {
			begins = v.LogStart(db)
			_, trimmed = v.TrimmedIn(db)
			return nil
		})
		// the node installed a snapshot last, so its log begins after all events
		if trimmed && len(all.heard) == 0 && slices.Equal(all.pending, []string{"lagged"}) {
			late = true
			continue
		}
		lagged := len(all.heard) > 0 && all.heard[0] == "lagged"
		if lagged != trimmed || slices.Contains(all.heard[min(1, len(all.heard)):], "lagged") {
			c.t.Errorf("node %d, whose log begins at %d, told %q", i+1, begins, all.heard[:min(3, len(all.heard))])
		}
		late = late || lagged
		heard[fmt.Sprintf("node %d", i+1)] = all.heard
	}
	for i, s := range subscribers {
		if !late && slices.Contains(s.heard, "lagged") {
			c.t.Errorf("subscriber %d heard that events are missing, and no log begins late", i)
		}
		heard[fmt.Sprintf("subscriber %d", i)] = s.heard
	}
	all := mergeEvents(heard)
	for who, got := range heard {
		if at := firstDifference(all, got); at < len(got) {
			c.t.Errorf("%s heard %d events, all together %d; wrong at the %dth: %q behind %q", who, len(got), len(all), at,
				got[at:min(at+3, len(got))], got[max(at-3, 0):at])
		} else if len(got) == 0 || got[len(got)-1] != all[len(all)-1] {
			c.t.Errorf("%s heard %d events, and %q in place of the last, %q", who, len(got), got[max(len(got)-2, 0):],
				all[max(len(all)-2, 0):])
		}
	}
}

// mergeEvents returns all events that anyone heard, in the order of the log. For each entry it takes the longest list
// of its events.
func mergeEvents(heard map[string][]string) (all []string) {
	entries := map[[2]int][]string{}
	for _, who := range slices.Sorted(maps.Keys(heard)) {
		own := map[[2]int][]string{}
		for _, e := range heard[who] {
			var at [2]int
			if n, _ := fmt.Sscanf(e, "%d/%d", &at[0], &at[1]); n == 2 {
				own[at] = append(own[at], e)
			}
		}
		for at, events := range own {
			if len(events) > len(entries[at]) {
				entries[at] = events
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(entries), func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		all = append(all, entries[at]...)
	}
	return all
}

// firstDifference returns the first place where a list lacks an event or has another order, without a mark that
// events are missing. It returns the length of the list if there is none.
func firstDifference(all, got []string) int {
	next, skips := 0, false
	for i, e := range got {
		if e == "lagged" {
			skips = true
			continue
		}
		at := next
		for skips && at < len(all) && all[at] != e {
			at++
		}
		if at == len(all) || all[at] != e {
			return i
		}
		next, skips = at+1, false
	}
	return len(got)
}

// storeLast stores the memory that ends all subscriptions.
func (c *cluster) storeLast() {
	last := errors.New("no node runs")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		c.revive()  // a write may find that a state disk failed before it was repaired
		c.readmit() // a late request may have removed a member
		n := c.anyNode()
		if n == nil {
			continue
		}
		caller, err := n.Access().Local("default")
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, last = api.Remember.Do(ctx, n.Service(), caller,
			&api.RememberRequest{Draft: api.Draft{RID: lastRID, Key: lastRID, Text: "word" + lastRID}})
		cancel()
		if last == nil {
			return
		}
	}
	c.t.Fatalf("nothing was taken after all was mended: %v", last)
}
