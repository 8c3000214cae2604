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

// soakFaults lists the faults, which run one after another. Each ends before its function returns.
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
	{"a home is emptied while another is behind", (*soak).emptiedWhileBehind},
	{"an old copy of a home", func(s *soak) { s.rolledBack("") }},
	{"an old copy of a log", func(s *soak) { s.rolledBack("raft") }},
	{"a rolling restart", (*soak).rolling},
	{"leadership is transferred", (*soak).transferred},
	{"a member is removed and joins anew", (*soak).rejoined},
	{"a read replica joins, and leaves", (*soak).replica},
	{"a backup is taken", (*soak).backedUp},
}

// faults injects faults until the time is up. After each, it checks that writes succeed, and records in the history
// if they do not.
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
	for lastLogged := s.began; time.Since(s.began) < length; {
		if len(order) == 0 { // each once in random order, then again
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
		if !s.writesSucceed() {
			s.note(history.Record{Op: history.Silent, Text: f.name, To: s.now()})
			return
		}
		if time.Since(lastLogged) > 10*time.Second {
			lastLogged = time.Now()
			fmt.Fprintf(os.Stderr, "  %s: %d acknowledged, last %s\n", time.Since(s.began).Round(time.Second), s.acks.Load(), f.name)
		}
	}
}

// writesSucceed reports whether writes are acknowledged again.
func (s *soak) writesSucceed() bool {
	want := s.acks.Load() + 20
	return suite.Within(suite.Patience, func() bool { return s.acks.Load() >= want })
}

func (s *soak) any() int { return s.rng.IntN(s.voters) }

// minority returns as many voters as the cluster can lose, except the two given ones.
func (s *soak) minority(a, b int) (few []int) {
	for i := range s.voters {
		if i != a && i != b && len(few) < s.voters/2 {
			few = append(few, i)
		}
	}
	return few
}

func (s *soak) leader() int { return leaderOf(s.t, s.nodes[:s.voters]) }

// hold waits for a random time between two bounds, the duration of a fault.
func (s *soak) hold(least, most time.Duration) {
	sleep(s.t.Context(), least+time.Duration(s.rng.Int64N(int64(most-least)+1)))
}

// waitHealthy waits until all voters are up, have a vote, and have caught up with the leader.
func (s *soak) waitHealthy() {
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

// randomBlock returns a random fault that blocks a link: silently, or by closing connections.
func (s *soak) randomBlock() fault { return []fault{stalled, cut}[s.rng.IntN(2)] }

// silence sets a fault on the links from a node to the others, on those to it, or both.
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

// apart blocks the links of a node for a while.
func (s *soak) apart(i int, unheard, deaf bool) {
	s.silence(s.randomBlock(), i, unheard, deaf)
	s.hold(500*time.Millisecond, 5*time.Second)
	s.links.all(passes)
}

func (s *soak) oneLink() {
	i := s.any()
	o := (i + 1 + s.rng.IntN(s.voters-1)) % s.voters
	f := s.randomBlock()
	s.links.set(f, i, o)
	s.links.set(f, o, i)
	s.hold(500*time.Millisecond, 5*time.Second)
	s.links.all(passes)
}

func (s *soak) allApart() { s.everywhere(s.randomBlock()) }

func (s *soak) everywhere(f fault) {
	s.links.all(f)
	s.hold(500*time.Millisecond, 3*time.Second)
	s.links.all(passes)
}

// emptied empties the home of one voter while the others are up, which the runbooks allow.
func (s *soak) emptied() {
	s.waitHealthy()
	i := s.any()
	s.kill(i)
	s.empty(i)
	s.start(i)()
	s.waitHealthy()
}

// emptiedWhileBehind stops the leader and empties the home of a follower, while another follower lacks records that
// both had acknowledged. These two followers must not continue without the leader's home.
func (s *soak) emptiedWhileBehind() {
	s.waitHealthy()
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
	s.waitHealthy()
}

// rolledBack replaces a follower's home, or a part of it, by an old copy. The others know that it is old. But if
// those that are up lack the records that it acknowledged last, they must not continue without the leader.
func (s *soak) rolledBack(part string) {
	s.waitHealthy()
	i := (s.leader() + 1) % s.voters
	now, old := filepath.Join(s.homes[i], part), filepath.Join(s.dir, "old")
	s.kill(i)
	s.copied(now, old)
	s.start(i)()
	s.waitHealthy()
	s.hold(time.Second, 2*time.Second)
	lead := s.leader()
	if lead == i {
		lead = (i + 1) % s.voters
		s.requestChange("transfer", map[string]any{"node_id": lead + 1})
		s.waitHealthy()
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
	s.waitHealthy()
}

func (s *soak) copied(from, to string) {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil { // also copies sockets
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
		s.waitHealthy()
	}
}

// requestChange requests a change of the cluster from the leader. It may be rejected, for example right after a
// change of leader.
func (s *soak) requestChange(verb string, body map[string]any) {
	t := cli.Target{Endpoints: []string{s.urls[s.leader()]}, TokenText: s.token, Timeout: 20 * time.Second}
	var out map[string]any
	if err := t.Get(s.t.Context(), "POST", "/v1/cluster/"+verb, body, &out); err != nil {
		s.t.Logf("%s: %v", verb, err)
	}
}

func (s *soak) transferred() {
	for range 3 {
		s.requestChange("transfer", map[string]any{})
		s.hold(0, time.Second)
	}
}

func (s *soak) rejoined() {
	s.waitHealthy()
	i := (s.leader() + 1) % s.voters
	s.requestChange("remove", map[string]any{"node_id": i + 1})
	s.kill(i)
	s.empty(i)
	s.start(i)()
	s.waitHealthy()
}

// replica adds the read replica, reads from it while a voter is killed, and removes it.
func (s *soak) replica() {
	i := s.voters
	s.start(i)()
	s.hold(time.Second, 3*time.Second)
	s.killed(s.any())
	s.kill(i) // the voter restarts with its state
	s.start(i)()
	s.hold(time.Second, 3*time.Second)
	s.requestChange("remove", map[string]any{"node_id": i + 1})
	s.kill(i)
	s.empty(i)
}

// backedUp makes a backup on top of the existing ones, and restores it into a temporary state.
func (s *soak) backedUp() {
	dir := filepath.Join(s.dir, "backups")
	if _, code := cairntest.Run(s.t, "backup", "--endpoints", s.urls[s.any()], "--to", dir); code != 0 {
		s.t.Errorf("backup: exit %d", code)
	}
	if _, code := cairntest.Run(s.t, "backup", "verify", dir); code != 0 {
		s.t.Errorf("backup verify: exit %d", code)
	}
}
