//go:build soak

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/lab/history"
	"github.com/cairndb/cairn/oplog/suite"
)

// soakFaults lists the faults, which run one after another. Each ends its fault before it returns.
var soakFaults = []struct {
	name string
	do   func(s *soak)
}{
	{"kill -9 of a node", func(s *soak) { s.killed(s.any()) }},
	{"kill -9 of the leader", func(s *soak) { s.killed(s.leader()) }},
	{"kill -9 of all", (*soak).allKilled},
	{"a node stands still", func(s *soak) { s.still(s.any()) }},
	{"the leader stands still", func(s *soak) { s.still(s.leader()) }},
	{"a node is cut off", func(s *soak) { s.apart(s.any(), true, true) }},
	{"the leader is cut off", func(s *soak) { s.apart(s.leader(), true, true) }},
	{"a node is not heard", func(s *soak) { s.apart(s.any(), true, false) }},
	{"a node hears nothing", func(s *soak) { s.apart(s.any(), false, true) }},
	{"the leader hears nothing", func(s *soak) { s.apart(s.leader(), false, true) }},
	{"one link is cut", (*soak).oneLink},
	{"no node hears another", (*soak).allApart},
	{"slow links", func(s *soak) { s.everywhere(late) }},
	{"frames break in the middle", func(s *soak) { s.everywhere(torn) }},
	{"bits of frames are flipped", func(s *soak) { s.everywhere(flips) }},
	{"bytes come one by one", func(s *soak) { s.everywhere(drips) }},
	{"a home is emptied", (*soak).emptied},
	{"a home is emptied while another is behind", (*soak).emptiedBeside},
	{"an old copy of a home", func(s *soak) { s.rolledBack("") }},
	{"an old copy of a log", func(s *soak) { s.rolledBack("raft") }},
	{"a rolling restart", (*soak).rolling},
	{"leadership is transferred", (*soak).transferred},
	{"a member is removed and joins anew", (*soak).rejoined},
	{"a read replica joins, and leaves", (*soak).replica},
	{"a backup is taken", (*soak).backedUp},
}

// faults has things happen until the time is up. After each, writes go on, or the history says that they do not.
func (s *soak) faults(length time.Duration) {
	var names []string
	for i, f := range soakFaults {
		if strings.Contains(f.name, *soakFault) {
			names = append(names, fmt.Sprint(i))
		}
	}
	if len(names) == 0 {
		s.t.Fatalf("no fault has %q in its name", *soakFault)
	}
	var order []string
	for said := s.began; time.Since(s.began) < length; {
		if len(order) == 0 { // each once, in any order, and again
			order = append(order, names...)
			s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		var i int
		fmt.Sscan(order[0], &i)
		order = order[1:]
		f := soakFaults[i]
		s.t.Logf("%s: %s", time.Since(s.began).Round(time.Millisecond), f.name)
		from := s.now()
		f.do(s)
		s.note(history.Record{Op: history.Fault, Text: f.name, From: from, To: s.now()})
		if !s.goesOn() {
			s.note(history.Record{Op: history.Silent, Text: f.name, To: s.now()})
			return
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, "  %s: %d acknowledged, last %s\n", time.Since(s.began).Round(time.Second), s.acks.Load(), f.name)
		}
	}
}

// goesOn reports whether writes are acknowledged again.
func (s *soak) goesOn() bool {
	want := s.acks.Load() + 20
	return suite.Within(suite.Patience, func() bool { return s.acks.Load() >= want })
}

func (s *soak) any() int { return s.rng.IntN(s.voters) }

// minority returns as many voters as the cluster can lose, without the two given ones.
func (s *soak) minority(a, b int) (few []int) {
	for i := range s.voters {
		if i != a && i != b && len(few) < s.voters/2 {
			few = append(few, i)
		}
	}
	return few
}

func (s *soak) leader() int { return leaderOf(s.t, s.nodes[:s.voters]) }

// hold lets a fault last.
func (s *soak) hold(least, most time.Duration) {
	rest(s.t.Context(), least+time.Duration(s.rng.Int64N(int64(most-least)+1)))
}

// whole returns when all voters are there, with a vote, and have what the leader has.
func (s *soak) whole() {
	s.t.Helper()
	var last string
	if !suite.Within(suite.Patience, func() bool {
		st, ok := statusOf(s.t, s.nodes[s.leader()])
		votes := 1
		for _, p := range st.Peers {
			if p.Voter && p.Reachable && p.Applied+1000 > st.Applied {
				votes++
			}
		}
		if ok && votes == s.voters && st.QuorumSize == s.voters/2+1 {
			return true
		}
		last = fmt.Sprintf("%+v", st)
		return false
	}) {
		s.t.Fatalf("not all voters are whole again: %s", last)
	}
}

func (s *soak) killed(i int) {
	s.kill(i)
	s.hold(0, 2*time.Second)
	s.start(i)()
}

func (s *soak) allKilled() {
	for i := range s.voters {
		s.kill(i)
	}
	s.startVoters()
}

func (s *soak) still(i int) {
	s.nodes[i].Signal(syscall.SIGSTOP)
	s.hold(200*time.Millisecond, 4*time.Second)
	s.nodes[i].Signal(syscall.SIGCONT)
}

// broken picks a fault that lets nothing pass: in silence, or with connections that close.
func (s *soak) broken() fault { return []fault{stalled, cut}[s.rng.IntN(2)] }

// silence drops the frames from a node to the others, or to it, or both.
func (s *soak) silence(f fault, i int, unheard, deaf bool) {
	if unheard {
		s.links.set(f, i, s.links.others(i)...)
	}
	for _, o := range s.links.others(i) {
		if deaf {
			s.links.set(f, o, i)
		}
	}
}

// apart does so for a while.
func (s *soak) apart(i int, unheard, deaf bool) {
	s.silence(s.broken(), i, unheard, deaf)
	s.hold(500*time.Millisecond, 5*time.Second)
	s.links.all(passes)
}

func (s *soak) oneLink() {
	i := s.any()
	o := (i + 1 + s.rng.IntN(s.voters-1)) % s.voters
	f := s.broken()
	s.links.set(f, i, o)
	s.links.set(f, o, i)
	s.hold(500*time.Millisecond, 5*time.Second)
	s.links.all(passes)
}

func (s *soak) allApart() { s.everywhere(s.broken()) }

func (s *soak) everywhere(f fault) {
	s.links.all(f)
	s.hold(500*time.Millisecond, 3*time.Second)
	s.links.all(passes)
}

// emptied does what the runbooks allow: it empties one voter while the others are up.
func (s *soak) emptied() {
	s.whole()
	i := s.any()
	s.kill(i)
	s.empty(i)
	s.start(i)()
	s.whole()
}

// emptiedBeside has the leader go, and a follower lose its home, while another lacks what both acknowledged: those
// two may not go on without the leader's home.
func (s *soak) emptiedBeside() {
	s.whole()
	lead := s.leader()
	emptied := (lead + 1) % s.voters
	behind := s.minority(lead, emptied)
	for _, b := range behind {
		s.kill(b)
	}
	s.hold(500*time.Millisecond, 2*time.Second)
	s.kill(lead)
	s.kill(emptied)
	s.empty(emptied)
	var ups []func()
	for _, i := range append(behind, emptied) {
		ups = append(ups, s.start(i))
	}
	s.hold(2*time.Second, 6*time.Second)
	ups = append(ups, s.start(lead))
	for _, up := range ups {
		up()
	}
	s.whole()
}

// rolledBack puts an old copy of a follower's home, or of a part of it, in the place of what it has. The others know
// it to be old, but those that are there when it comes back lack what it acknowledged last: they may not go on
// without the leader.
func (s *soak) rolledBack(part string) {
	s.whole()
	i := (s.leader() + 1) % s.voters
	now, old := filepath.Join(s.homes[i], part), filepath.Join(s.dir, "old")
	s.kill(i)
	s.copied(now, old)
	s.start(i)()
	s.whole()
	s.hold(time.Second, 2*time.Second)
	lead := s.leader()
	if lead == i {
		lead = (i + 1) % s.voters
		s.asked("transfer", map[string]any{"node_id": lead + 1})
		s.whole()
	}
	for _, behind := range s.minority(lead, i) {
		s.silence(stalled, behind, true, true)
	}
	s.hold(500*time.Millisecond, 2*time.Second)
	s.kill(lead)
	s.kill(i)
	if err := os.RemoveAll(now); err != nil {
		s.t.Fatal(err)
	}
	s.copied(old, now)
	if err := os.RemoveAll(old); err != nil {
		s.t.Fatal(err)
	}
	s.links.all(passes)
	up := s.start(i)
	s.hold(2*time.Second, 6*time.Second)
	s.start(lead)()
	up()
	s.whole()
}

func (s *soak) copied(from, to string) {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil { // sockets, too
		s.t.Fatalf("cp: %v: %s", err, out)
	}
}

func (s *soak) rolling() {
	for i := range s.voters {
		if err := s.nodes[i].Stop(); err != nil {
			s.t.Errorf("node %d did not end as asked: %v", i+1, err)
		}
		s.lives[i].Store(0)
		s.start(i)()
		s.whole()
	}
}

// asked asks the leader for a change of the cluster. It may be rejected: a leader may just have changed.
func (s *soak) asked(verb string, body map[string]any) {
	t := cli.Target{Endpoints: []string{s.urls[s.leader()]}, TokenText: s.token, Timeout: 20 * time.Second}
	var out map[string]any
	if err := t.Get(s.t.Context(), "POST", "/v1/cluster/"+verb, body, &out); err != nil {
		s.t.Logf("%s: %v", verb, err)
	}
}

func (s *soak) transferred() {
	for range 3 {
		s.asked("transfer", map[string]any{})
		s.hold(0, time.Second)
	}
}

func (s *soak) rejoined() {
	s.whole()
	i := (s.leader() + 1) % s.voters
	s.asked("remove", map[string]any{"node_id": i + 1})
	s.kill(i)
	s.empty(i)
	s.start(i)()
	s.whole()
}

// replica makes the replica join, reads from it while a voter is killed, and makes it leave.
func (s *soak) replica() {
	i := s.voters
	s.start(i)()
	s.hold(time.Second, 3*time.Second)
	s.killed(s.any())
	s.kill(i) // it comes back with what it has
	s.start(i)()
	s.hold(time.Second, 3*time.Second)
	s.asked("remove", map[string]any{"node_id": i + 1})
	s.kill(i)
	s.empty(i)
}

// backedUp takes a backup, on what there is already, and restores it into a scratch state.
func (s *soak) backedUp() {
	dir := filepath.Join(s.dir, "backups")
	if _, code := cairntest.Run(s.t, "backup", "--endpoints", s.urls[s.any()], "--to", dir); code != 0 {
		s.t.Errorf("backup: exit %d", code)
	}
	if _, code := cairntest.Run(s.t, "backup", "verify", dir); code != 0 {
		s.t.Errorf("backup verify: exit %d", code)
	}
}
