package raft

import (
	"testing"
	"time"
)

// TestTheMiddleClockDecides: a node derives the time from its own clock and the others'.
func TestTheMiddleClockDecides(t *testing.T) {
	t.Parallel()
	const years = 70 * 365 * 24 * time.Hour
	for _, tc := range []struct {
		name  string
		own   time.Duration            // offset of this node's clock from true time
		peers map[uint32]time.Duration // offsets of the others' clocks
		last  bool                     // the time was known a second ago
		want  time.Duration            // offset of the derived time
		off   bool
	}{
		{name: "alone, first"},
		{name: "alone, after a jump", own: years, last: true, want: 100 * time.Millisecond, off: true},
		{name: "alone, a second ahead", own: time.Second, last: true, want: time.Second},
		{name: "three, own ahead", own: years, peers: map[uint32]time.Duration{2: 0, 3: 0}, off: true},
		{name: "three, own behind", own: -years, peers: map[uint32]time.Duration{2: 0, 3: 0}, off: true},
		{name: "three, another ahead", peers: map[uint32]time.Duration{2: years, 3: 0}},
		{name: "two, own ahead", own: years, peers: map[uint32]time.Duration{2: 0}, last: true, off: true},
		{name: "two, the other ahead", peers: map[uint32]time.Duration{2: years}, last: true},
		{name: "two, nothing known", own: years, peers: map[uint32]time.Duration{2: 0}, off: true},
		{name: "within the bound", own: time.Second, peers: map[uint32]time.Duration{2: 0, 3: 0}, want: time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			true0 := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
			now := time.Hour
			c := clocks{max: 2 * time.Second, elapsed: func() time.Duration { return now },
				now: func() time.Time { return true0.Add(now + tc.own) }}
			if tc.last {
				c.noteLeader(true0.Add(now))
				now += time.Second
			}
			for id, d := range tc.peers {
				c.notePeer(id, true0.Add(now+d), 0)
			}
			got := c.read()
			if d := got.Time.Sub(true0.Add(now)); d != tc.want || got.Off != tc.off {
				t.Errorf("the time is %s off (%v), want %s (%v)", d, got.Off, tc.want, tc.off)
			}
		})
	}
}
