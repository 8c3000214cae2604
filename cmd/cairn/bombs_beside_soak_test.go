//go:build soak

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// What TestBombsBeside bounds and how it goes about it.
const (
	besideBound = 3.0                   // times the p99 that clients who mean well may see of what they see alone
	besidePace  = 10 * time.Millisecond // between their requests, whether or not the last was answered in time
	besideAlone = time.Second           // before each bomb; what clients see alone is the median of these: what a bomb leaves behind is not
	besideBomb  = 3 * time.Second
	besideTries = 5               // a ratio over the bound is taken so often, and the median counts: the machine has others to serve
	besideRest  = 2 * time.Second // before each of these: what the bomb left behind is not what a client is used to
)

// TestBombsBeside prints, for every door of a node, the p99 of two clients that mean well, one over the wire and one
// over HTTP, each request on its own connection, alone and next to each bomb:
//
//	go test -tags soak -run TestBombsBeside -v -timeout 1h ./cmd/cairn
//
// The bombs come from another process with the least priority, two at a time where they take processors: what is
// measured is the node, and not how many processors a machine has. CAIRN_DOOR=name bombs one door alone,
// CAIRN_BOMB=name in one way. CAIRN_ELSEWHERE=1 bombs another node, which is not measured: so much is the machine's.
func TestBombsBeside(t *testing.T) {
	p := besideNode(t)
	elsewhere := sync.OnceValue(func() *cairntest.Node { return besideNode(t) })
	bombed := p
	if os.Getenv("CAIRN_ELSEWHERE") != "" {
		bombed = elsewhere()
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "door\twire alone\tworst\tratio\tbeside\thttp alone\tworst\tratio\tbeside\t")
	doors := listeners(t, p)
	well := [2]func(context.Context) error{byName(t, doors, "wire").well, byName(t, doors, "gateway").well}
	for _, d := range doors {
		if only := os.Getenv("CAIRN_DOOR"); only != "" && only != d.name {
			continue
		}
		fmt.Fprintf(w, "%s\t", d.name)
		for _, r := range besideDoor(t, bombed, elsewhere, d, well) {
			fmt.Fprintf(w, "%.1f ms\t%.1f ms\t%.1f\t%s\t", ms(r.alone), ms(r.beside), r.ratio(), r.bomb)
			if r.over() {
				t.Errorf("%s, %s: p99 went from %s to %s, and to %s when the bomb was another node's", d.name, r.bomb,
					r.alone, r.beside, r.elsewhere)
			}
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("p99 alone, and beside the bomb that raised it most\n%s", &table)
}

func besideNode(t *testing.T) *cairntest.Node {
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", filepath.Join(shortDir(t), "h"), "--log-level", "error", "--port-base",
			fmt.Sprint(cairntest.FreePorts(t, 6))}}
	t.Cleanup(p.Kill)
	p.Launch()()
	registerWell(t, p)
	return p
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func byName(t *testing.T, doors []bombed, name string) bombed {
	t.Helper()
	i := slices.IndexFunc(doors, func(d bombed) bool { return d.name == name })
	if i < 0 {
		t.Fatalf("no door %s", name)
	}
	return doors[i]
}

// besideRow holds how long one client waited: alone, during one bomb, and during the same bomb on another node.
type besideRow struct {
	bomb                     string
	alone, beside, elsewhere time.Duration // elsewhere is known of a bomb that was taken again
}

// ratio returns 0 if a value was not measured.
func (r besideRow) ratio() float64 {
	if r.alone == 0 {
		return 0
	}
	return float64(r.beside) / float64(r.alone)
}

func (r besideRow) over() bool { return r.ratio() > besideBound }

// besideDoor bombs a door in every way and returns what was worst for each client. All bombs of a door are measured
// by what its clients see alone between them; one over the bound is taken again, each time with what they see alone
// just before, and while the same door of another node is bombed: a machine that others use too is not the same a
// minute later. What a bomb costs elsewhere excuses nothing; it says how much is the machine's.
func besideDoor(t *testing.T, p *cairntest.Node, elsewhere func() *cairntest.Node, d bombed, well [2]func(context.Context) error) (worst [2]besideRow) {
	b := startBomber(t, p, d.name)
	defer b.end()
	var rows [][2]besideRow
	for _, name := range sortedNames(d.bombs) {
		if only := os.Getenv("CAIRN_BOMB"); only == "" || only == name {
			alone := tailsOf(t, well, besideAlone)
			beside := b.tails(well, name)
			rows = append(rows, [2]besideRow{{name, alone[0], beside[0], 0}, {name, alone[1], beside[1], 0}})
		}
	}
	alone := medians(rows, func(r besideRow) time.Duration { return r.alone })
	for _, r := range rows {
		r[0].alone, r[1].alone = alone[0], alone[1]
		if r[0].over() || r[1].over() {
			r = b.again(well, r[0].bomb, elsewhere())
		}
		for i := range worst {
			if r[i].ratio() > worst[i].ratio() {
				worst[i] = r[i]
			}
			t.Logf("%s, %s: client %d %s (%.1f times), elsewhere %s", d.name, r[i].bomb, i, r[i].beside, r[i].ratio(), r[i].elsewhere)
		}
	}
	return worst
}

// again measures a bomb some times, and the same on another node in turn with it.
func (b *bomber) again(well [2]func(context.Context) error, name string, other *cairntest.Node) (r [2]besideRow) {
	o := startBomber(b.t, other, b.name)
	defer o.end()
	var tries [][2]besideRow
	for range besideTries {
		time.Sleep(besideRest)
		alone := tailsOf(b.t, well, besideAlone)
		beside := b.tails(well, name)
		time.Sleep(besideRest)
		elsewhere := o.tails(well, name)
		tries = append(tries, [2]besideRow{{name, alone[0], beside[0], elsewhere[0]}, {name, alone[1], beside[1], elsewhere[1]}})
	}
	alone := medians(tries, func(r besideRow) time.Duration { return r.alone })
	beside := medians(tries, func(r besideRow) time.Duration { return r.beside })
	elsewhere := medians(tries, func(r besideRow) time.Duration { return r.elsewhere })
	return [2]besideRow{{name, alone[0], beside[0], elsewhere[0]}, {name, alone[1], beside[1], elsewhere[1]}}
}

// tails bombs, and returns what it costs the clients.
func (b *bomber) tails(well [2]func(context.Context) error, name string) [2]time.Duration {
	b.t.Helper()
	b.say("go " + name)
	defer b.say("stop")
	return tailsOf(b.t, well, besideBomb)
}

// medians returns the median of each client's figures.
func medians(rows [][2]besideRow, figure func(besideRow) time.Duration) (m [2]time.Duration) {
	for client := range m {
		var all []time.Duration
		for _, r := range rows {
			all = append(all, figure(r[client]))
		}
		if slices.Sort(all); len(all) > 0 {
			m[client] = all[len(all)/2]
		}
	}
	return m
}

// tailsOf returns the p99 of both clients over some time.
func tailsOf(t *testing.T, well [2]func(context.Context) error, d time.Duration) (p99 [2]time.Duration) {
	t.Helper()
	for i, took := range pacedTails(t, well, d) {
		slices.Sort(took)
		p99[i] = took[(len(took)-1)*99/100]
	}
	return p99
}

// pacedTails has both clients ask at their pace and returns how long each request took, from when it was due.
func pacedTails(t *testing.T, well [2]func(context.Context) error, d time.Duration) (took [2][]time.Duration) {
	t.Helper()
	var wg sync.WaitGroup
	for i, ask := range well {
		wg.Go(func() {
			start := time.Now()
			for due := start; due.Sub(start) < d; due = due.Add(besidePace) {
				time.Sleep(time.Until(due))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				err := ask(ctx)
				cancel()
				if err != nil {
					t.Errorf("who means well, after %s: %v", time.Since(due), err)
				}
				took[i] = append(took[i], time.Since(due))
			}
		})
	}
	wg.Wait()
	return took
}

// bomber is the process that overloads one listener.
type bomber struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	name string
}

func startBomber(t *testing.T, p *cairntest.Node, door string) *bomber {
	t.Helper()
	line, err := json.Marshal(p.Line)
	if err != nil {
		t.Fatal(err)
	}
	b := &bomber{t: t, name: door,
		cmd: exec.CommandContext(t.Context(), "nice", "-n", "19", os.Args[0], "-test.run", "^TestBomber$", "-test.timeout", "1h")}
	b.cmd.Env = append(os.Environ(), bomberEnv+"="+door+"\n"+string(line))
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	b.out = bufio.NewReader(out)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b.said("ready")
	return b
}

// say tells the bomber what to do and waits until it does.
func (b *bomber) say(what string) {
	b.t.Helper()
	if _, err := fmt.Fprintln(b.in, what); err != nil {
		b.t.Fatalf("bomber of %s: %v", b.name, err)
	}
	b.said(what)
}

func (b *bomber) said(what string) {
	b.t.Helper()
	if line, err := b.out.ReadString('\n'); err != nil || strings.TrimSpace(line) != what {
		b.t.Fatalf("bomber of %s said %q, %v", b.name, line, err)
	}
}

func (b *bomber) end() {
	b.in.Close()
	_ = b.cmd.Wait() // how it ends is its own affair
}

// TestBomber is that process: a line on stdin says what to do, the same line on stdout that it is being done.
func TestBomber(t *testing.T) {
	door, line, ok := strings.Cut(os.Getenv(bomberEnv), "\n")
	if !ok {
		t.Skip("is run by TestBombsBeside")
	}
	p := &cairntest.Node{T: t}
	if err := json.Unmarshal([]byte(line), &p.Line); err != nil {
		t.Fatal(err)
	}
	d := byName(t, listeners(t, p), door)
	stop := func() {}
	defer func() { stop() }()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println(in.Text()) {
		stop()
		stop = func() {}
		if name, ok := strings.CutPrefix(in.Text(), "go "); ok {
			stop = goOff(t.Context(), d.bombs[name])
		}
	}
}

// goOff starts a bomb; what it returns ends it.
func goOff(ctx context.Context, bomb func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		bomb(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
