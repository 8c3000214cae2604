//go:build soak

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/lab/history"
)

var (
	soakFor     = flag.Duration("soak.for", 30*time.Second, "how long TestSoak has faults happen")
	soakSeed    = flag.Uint64("soak.seed", uint64(time.Now().UnixNano()), "of the faults of TestSoak")
	soakVoters  = flag.Int("soak.voters", 3, "how many voters TestSoak has: 3 or 5")
	soakHistory = flag.String("soak.history", "", "the file of the history; without a name it is removed when nothing is wrong with it")
	soakBinary  = flag.String("soak.binary", "", "the cairn that TestSoak runs, if not this one: to see what an earlier version does")
	soakFault   = flag.String("soak.fault", "", "only the faults that have this in their name")
)

// soakClients is the number of concurrent clients.
const soakClients = 8

// A soak is a cluster of real processes behind proxies, with its clients and their history. The last node is a read
// replica, which joins and leaves.
type soak struct {
	t      *testing.T
	ctx    context.Context // ends when the clients must stop
	rng    *rand.Rand      // random choices of the faults
	dir    string
	token  string
	voters int
	nodes  []*cairntest.Node // changed only by the goroutine of the faults
	homes  []string
	links  *links

	urls  []string
	wires []string
	lives []atomic.Int64 // number of processes of each node so far; 0 while it is down
	total []int64

	out   *historyWriter
	began time.Time
	acks  atomic.Int64
	index atomic.Uint64 // index of the last acknowledged write

	mu   sync.Mutex
	keys map[string][]*soakKey // open keys, by kind
	made int                   // number of keys so far
}

// TestSoak injects faults into a cluster while clients write and read, and checks the recorded history.
// deploy/soak/run.sh runs it for any time.
func TestSoak(t *testing.T) {
	path := *soakHistory
	if path == "" {
		path = filepath.Join(os.TempDir(), fmt.Sprintf("cairn-soak-%d.jsonl", *soakSeed))
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := newSoak(t, newHistory(f))
	again := fmt.Sprintf("deploy/soak/run.sh %g %d %d", soakFor.Minutes(), *soakSeed, s.voters)
	fmt.Fprintf(os.Stderr, "%d voters, %d clients, %s, seed %d; the history is in %s\n", s.voters, soakClients, *soakFor, *soakSeed, path)
	s.note(history.Record{Op: history.Begin, Node: s.voters, Text: again})
	ended := false
	defer func() {
		if !ended { // a node did not start, or the cluster did not recover
			fmt.Printf("FAIL: the run broke off after %s; what happened is in %s (%v)\n",
				time.Since(s.began).Round(time.Second), path, s.out.flush())
		}
	}()
	s.run(*soakFor)
	ended = true
	if err := s.out.flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	v, err := history.Check(f)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(os.Stderr, v.Details())
	fmt.Println(v)
	if !v.Pass() {
		t.Fatalf("%d kinds of violation; check it again with deploy/soak/check.sh %s", len(v.Counts), path)
	}
	if *soakHistory == "" {
		os.Remove(path)
	}
}

func newSoak(t *testing.T, out *historyWriter) *soak {
	of := *soakVoters + 1
	s := &soak{t: t, rng: rand.New(rand.NewPCG(*soakSeed, 1)), dir: shortDir(t), voters: *soakVoters, links: newLinks(t, of),
		out: out, keys: map[string][]*soakKey{},
		lives: make([]atomic.Int64, of), total: make([]int64, of)}
	s.nodes, s.token = configureNodes(t, s.dir, of, func(n *config.NodeFile) {
		shortElection(n)
		s.links.rewriteConfig(n)
		s.homes = append(s.homes, n.DataDir)
		s.urls, s.wires = append(s.urls, "http://"+config.Loopback(n.HTTPPort)), append(s.wires, config.Loopback(n.WirePort))
		if n.NodeID < of { // the replica is not a founding member
			n.Peers = n.Peers[:s.voters-1]
		}
	})
	replica := s.nodes[s.voters].Args[3]
	b, err := os.ReadFile(replica)
	if err == nil {
		err = os.WriteFile(replica, []byte(strings.Replace(string(b), `role = "voter"`, `role = "read_replica"`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.nodes {
		p.Bin = *soakBinary
	}
	t.Setenv("CAIRN_TOKEN", s.token)
	s.startVoters()
	s.began = time.Now()
	return s
}

// run runs the clients during the faults, and then reads the state of all nodes.
func (s *soak) run(length time.Duration) {
	ctx, done := context.WithCancel(s.t.Context())
	defer done()
	s.ctx = ctx
	var clients sync.WaitGroup
	for i := range soakClients {
		c := s.newClient(i)
		clients.Go(func() { c.run(ctx) })
	}
	s.faults(length)
	done()
	clients.Wait()
	s.links.all(passes)
	s.closeAll()
	differences := stateDifference(s.t, s.nodes[:s.voters])
	for i, p := range s.nodes[:s.voters] {
		s.final(i, exportedBy(s.t, p, s.token))
	}
	s.note(history.Record{Op: history.End, Text: differences, To: s.now()})
}

func (s *soak) now() int64 { return time.Since(s.began).Nanoseconds() }

func (s *soak) note(r history.Record) { s.out.note(r) }

// start launches a node and gives its process the next number; up waits until it serves. lives is 0 while a node is
// down.
func (s *soak) start(i int) (up func()) {
	s.total[i]++
	up = s.nodes[i].Launch()
	s.lives[i].Store(s.total[i])
	return up
}

func (s *soak) startVoters() {
	var ups []func()
	for i := range s.voters {
		ups = append(ups, s.start(i))
	}
	for _, up := range ups {
		up()
	}
}

func (s *soak) kill(i int) {
	s.nodes[i].Kill()
	s.lives[i].Store(0)
}

func (s *soak) empty(i int) {
	if err := os.RemoveAll(s.homes[i]); err != nil {
		s.t.Fatal(err)
	}
}

// final records the final state of a node.
func (s *soak) final(node int, rows map[string]string) {
	found := map[string]*history.Record{}
	for i := range s.made {
		for _, kind := range []string{setKind, registerKind} {
			key := keyName(kind, i+1)
			found[key] = &history.Record{Op: history.Final, Key: key, Node: node + 1}
		}
	}
	for _, text := range rows {
		key, value, ok := parseRow(text)
		r := found[key]
		if !ok || r == nil {
			continue
		}
		if strings.HasPrefix(key, registerKind) {
			r.Value = value
			continue
		}
		if r.Have.Has(value) {
			r.Twice.Add(value)
		}
		r.Have.Add(value)
	}
	for i := range s.made {
		for _, kind := range []string{setKind, registerKind} {
			s.note(*found[keyName(kind, i+1)])
		}
	}
}
