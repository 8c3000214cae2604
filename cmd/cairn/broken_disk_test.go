package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestADiskThatFails breaks the disks of real processes below the system calls, while clients write: a member whose log or
// state cannot be written or synced says so and stops by itself, the others go on, and it is whole again when it is
// started on a disk that works. One without room does not stop.
func TestADiskThatFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it waits for elections of three processes, which the race detector slows down")
	}
	nodes, token := startThreeIn(t, t.TempDir(), inHaste, 0, 1, 2)
	d := writeOn(t, nodes, token, 3)
	d.goesOn("at first")
	for _, tc := range []struct {
		leads            bool
		file, call, says string
	}{
		{false, "raft/log/*.seg", "fdatasync", "the log's disk has failed"},
		{true, "raft/log/*.seg", "pwrite64", "the log's disk has failed"},
		{true, "state.db", "fdatasync", "cannot apply record"},
	} {
		i := leaderOf(t, nodes)
		if !tc.leads {
			i = (i + 1) % 3
		}
		p := nodes[i]
		x := inject(t, p, tc.file, tc.call, "EIO")
		p.ends(tc.says, "input/output error")
		x.end()
		d.goesOn("when " + tc.call + " of " + tc.file + " had failed")
		p.launch()()
	}
	full := nodes[leaderOf(t, nodes)]
	x := inject(t, full, "raft/log/*.seg", "pwrite64", "ENOSPC")
	x.hit(3)
	d.goesOn("while the leader's disk is full")
	x.end()
	d.goesOn("when it has room")
	onlyWhatIsThere(t, nodes, d)
	d.checkAll(nodes, token)
}

// onlyWhatIsThere: with one member away, what is acknowledged is on both others. One of those has a disk that takes
// nothing; then the other is killed, and the two that are left have everything.
func onlyWhatIsThere(t *testing.T, nodes []*nodeProcess, d *diary) {
	t.Helper()
	lead := leaderOf(t, nodes)
	away, broken := nodes[(lead+1)%3], nodes[(lead+2)%3]
	away.kill()
	x := inject(t, broken, "raft/log/*.seg", "pwrite64", "EIO")
	broken.ends("the log's disk has failed", "input/output error")
	x.end()
	nodes[lead].kill()
	upBroken, upAway := broken.launch(), away.launch()
	upBroken()
	upAway()
	d.goesOn("without the one that led")
	nodes[lead].launch()()
}

// ends waits for a process to end by itself with the exit code of a failure, and looks at what it said.
func (p *nodeProcess) ends(says ...string) {
	p.t.Helper()
	done := make(chan error, 1)
	cmd := p.cmd
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != exitFailed {
			p.t.Errorf("it ended with %v, want exit code %d", err, exitFailed)
		}
	case <-time.After(time.Minute):
		p.t.Fatalf("a process whose disk has failed goes on:\n%s", tailOf(p.log.String(), 2000))
	}
	p.cmd = nil
	log := p.log.String()
	_, last, _ := strings.Cut(log, "\ncairn: ")
	for _, s := range says {
		if !strings.Contains(last, s) {
			p.t.Errorf("it does not say %q as its last words:\n%s", s, tailOf(log, 2000))
		}
	}
}
