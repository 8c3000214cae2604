package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/suite"
)

// A lan is a bridge with a network namespace for each node, so that the nodes have separate networks like machines.
type lan struct {
	t      testing.TB
	id     int
	subnet string
}

// machineLinks is write-locked by a test that removes and restores network links of this machine, and read-locked by
// tests with a browser, because browsers drop their requests when a link changes.
var machineLinks sync.RWMutex

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (l *lan) space(i int) string { return fmt.Sprintf("cairn%d-%d", l.id, i+1) }
func (l *lan) port(i int) string  { return fmt.Sprintf("cn%dp%d", l.id, i+1) } // the port of the bridge to node i
func (l *lan) addr(i int) string  { return fmt.Sprintf("%s.%d", l.subnet, i+1) }

// newLAN creates a lan for n nodes. It skips the test if it cannot.
func newLAN(t testing.TB, n int) *lan {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("network namespaces are made by root on linux only")
	}
	machineLinks.Lock()
	t.Cleanup(machineLinks.Unlock)
	l := &lan{t: t, id: os.Getpid() % 10_000, subnet: fmt.Sprintf("10.213.%d", os.Getpid()%250)}
	bridge := fmt.Sprintf("cn%dbr", l.id)
	t.Cleanup(func() {
		for i := range n {
			_ = ip("link", "del", l.port(i)) // a link that was not created is an error
			_ = ip("netns", "del", l.space(i))
		}
		_ = ip("link", "del", bridge)
	})
	steps := [][]string{{"link", "add", bridge, "type", "bridge"}, {"addr", "add", l.subnet + ".254/24", "dev", bridge},
		{"link", "set", bridge, "up"}}
	for i := range n {
		ns := l.space(i)
		steps = append(steps, []string{"netns", "add", ns},
			[]string{"link", "add", l.port(i), "type", "veth", "peer", "name", "eth0", "netns", ns},
			[]string{"link", "set", l.port(i), "master", bridge, "up"}, []string{"-n", ns, "addr", "add", l.addr(i) + "/24", "dev", "eth0"},
			[]string{"-n", ns, "link", "set", "eth0", "up"}, []string{"-n", ns, "link", "set", "lo", "up"})
	}
	for _, s := range steps {
		if err := ip(s...); err != nil {
			t.Skipf("no network namespaces can be made here: %v", err)
		}
	}
	return l
}

// cut and join disconnect a node from the network and connect it again.
func (l *lan) cut(i int)  { l.must(ip("link", "set", l.port(i), "down")) }
func (l *lan) join(i int) { l.must(ip("link", "set", l.port(i), "up")) }

// deafen drops a node's incoming packets but not its outgoing ones. It returns false if the kernel does not support
// that.
func (l *lan) deafen(i int) bool {
	return exec.Command("tc", "qdisc", "add", "dev", l.port(i), "root", "netem", "loss", "100%").Run() == nil
}

func (l *lan) hear(i int) {
	if out, err := exec.Command("tc", "qdisc", "del", "dev", l.port(i), "root").CombinedOutput(); err != nil {
		l.t.Fatalf("tc: %v: %s", err, out)
	}
}

func (l *lan) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestNetworkNamespaces runs three nodes in separate network namespaces. While clients write, it disconnects the
// leader and followers, drops the incoming packets of a node, and separates all nodes. A remaining majority must
// continue, nothing may be acknowledged without one, and after the nodes are reconnected all must have the same state
// with every acknowledged write once.
func TestNetworkNamespaces(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "it waits for elections of three processes, which the race detector slows down")
	l := newLAN(t, 3)
	nodes, token := configureThree(t, shortDir(t), func(n *config.NodeFile) {
		shortElection(n)
		i := n.NodeID - 1
		n.InsecurePeers = true
		n.Bind, n.Advertise, n.Peers = l.addr(i), fmt.Sprintf("%s:%d", l.addr(i), n.ClusterPort), nil
		for other := range 3 {
			if other != i {
				n.Peers = append(n.Peers, fmt.Sprintf("%s:%d", l.addr(other), n.ClusterPort+config.PortsEach*(other-i)))
			}
		}
	})
	for i, p := range nodes {
		p.Netns = l.space(i)
	}
	startAll(t, nodes, 0, 1, 2)
	d := writeOn(t, nodes, token, 3)
	d.waitForMore("at first")
	lead := leaderOf(t, nodes)
	l.cut(lead)
	d.waitForMore("without the leader")
	l.join(lead)
	d.waitForMore("with all")
	follower := (leaderOf(t, nodes) + 1) % 3
	l.cut(follower)
	d.waitForMore("without a follower")
	l.join(follower)
	lead = leaderOf(t, nodes)
	if l.deafen(lead) {
		d.waitForMore("while the leader is deaf")
		l.hear(lead)
	} else {
		t.Log("this kernel drops no packets one way: no deaf leader")
	}
	for i := range 3 {
		l.cut(i)
	}
	sleep(t.Context(), 2*time.Second) // let pending requests end
	before := d.count()
	sleep(t.Context(), 2*time.Second)
	if n := d.count(); n != before {
		t.Errorf("%d writes acknowledged by no leader", n-before)
	}
	for i := range 3 {
		l.join(i)
	}
	d.waitForMore("when all are joined")
	d.checkAll(nodes, token)
}
