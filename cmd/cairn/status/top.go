package status

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/pause"
)

// A top watches a cluster: it takes a sample at each interval, and shows the changes since the previous sample.
type top struct {
	*cli.Streams
	t                 cli.Target
	every             time.Duration
	sort              int
	reversed, paused  bool
	showLog, showHelp bool // show the queried node's newest log lines, and the help
}

// Top returns the command `cairn top`.
func Top(s *cli.Streams) *cobra.Command {
	v := &top{Streams: s}
	var once bool
	c := &cobra.Command{Use: "top", Short: "Watch the cluster live: rates, latencies, lag, who leads", Args: cobra.NoArgs,
		Long: `Watch the cluster live: for each member its role, writes and recalls a second with their latencies, entries to apply and to index, free space
on its disk and slow operations. The data is from /v1/cluster of the node at the given endpoint, and /metrics of each node.

Keys: q ends, p pauses, left and right choose the column that rows are sorted by, r turns the order round,
l shows what that node applied last, ? explains the columns.
Without a terminal, or with --once, it prints one frame of one interval.`,
		Example: "  cairn top\n  cairn top --once --json | jq '.nodes[] | {node_id, writes_per_second}'",
		RunE: func(c *cobra.Command, _ []string) error {
			if v.every < 100*time.Millisecond {
				return cli.Usagef("--interval %s: at least 100ms", v.every)
			}
			in, ok := s.In.(*os.File)
			if once || v.t.JSON || !ok || !term.IsTerminal(int(in.Fd())) || !cli.IsTerminal(s.Out) {
				return v.once(c.Context())
			}
			return v.live(c.Context(), in)
		}}
	v.t.Flags(c)
	c.Flags().BoolVar(&once, "once", false, "print one frame and end")
	c.Flags().DurationVar(&v.every, "interval", time.Second, "time between frames")
	return c
}

// once prints one frame.
func (v *top) once(ctx context.Context) error {
	first, err := v.takeSample(ctx, false)
	if err != nil {
		return err
	}
	if pause.For(ctx, v.every) != nil {
		return nil
	}
	second, err := v.takeSample(ctx, false)
	if err != nil {
		return err
	}
	f := second.frameSince(first)
	if v.t.JSON {
		return v.JSON(f)
	}
	return f.print(v.Out, -1)
}

// live draws a frame at each interval until q is pressed or the process receives a signal. It restores the terminal.
func (v *top) live(ctx context.Context, in *os.File) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	const other, back = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l" // alternate screen, cursor hidden; and back
	fmt.Fprint(cli.Raw(v.Out), other)
	defer func() {
		fmt.Fprint(cli.Raw(v.Out), back)
		err = errors.Join(err, term.Restore(int(in.Fd()), was))
	}()
	keys := make(chan string)
	go readKeys(v.Input(ctx), keys)
	tick := time.NewTicker(v.every)
	defer tick.Stop()
	type answer struct {
		sample
		err error
	}
	answers := make(chan answer, 1)
	asked := false
	ask := func() { // concurrently, so that a hanging node does not delay the keys
		if asked || v.paused {
			return
		}
		asked = true
		tails := v.showLog
		go func() {
			l, err := v.takeSample(ctx, tails)
			answers <- answer{l, err}
		}()
	}
	ask()
	var last sample
	var f frame
	for {
		v.draw(f)
		select {
		case <-ctx.Done():
			return nil
		case k, ok := <-keys:
			if !ok || v.key(k) {
				return nil
			}
		case now := <-answers:
			if asked = false; now.err != nil {
				f = frame{Condition: "no answer: " + now.err.Error()} // continue: it may come back
			} else {
				f, last = now.frameSince(last), now.sample
			}
		case <-tick.C:
			ask()
		}
	}
}

// key handles a key, and reports whether to quit.
func (v *top) key(k string) (end bool) {
	switch k {
	case "q", "\x03", "\x04":
		return true
	case "p", " ":
		v.paused = !v.paused
	case "l":
		v.showLog = !v.showLog
	case "?":
		v.showHelp = !v.showHelp
	case "r":
		v.reversed = !v.reversed
	case "s", "\x1b[C":
		v.sort = (v.sort + 1) % len(topColumns)
	case "\x1b[D":
		v.sort = (v.sort + len(topColumns) - 1) % len(topColumns)
	}
	return false
}

// readKeys sends keys until the input ends. An arrow key is a sequence of three bytes.
func readKeys(in io.Reader, keys chan<- string) {
	defer close(keys)
	buf := make([]byte, 16)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		for b := buf[:n]; len(b) > 0; {
			size := 1
			if len(b) >= 3 && b[0] == 0x1b && b[1] == '[' {
				size = 3
			}
			keys <- string(b[:size])
			b = b[size:]
		}
	}
}

// draw draws a frame on the whole screen.
func (v *top) draw(f frame) {
	wide, high := 80, 24
	if out, ok := cli.Raw(v.Out).(*os.File); ok {
		if w, h, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
			wide, high = w, h
		}
	}
	f.sortRows(v.sort, v.reversed)
	var b bytes.Buffer
	if err := f.print(&b, v.sort); err != nil {
		return // impossible: writes to a buffer do not fail
	}
	if v.showLog {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(f.Log, "\n"))
	}
	if v.showHelp {
		fmt.Fprintln(&b, topHelp)
	}
	fmt.Fprintf(&b, "\nq end  p %s  ←→ sort  r reverse  l log  ? help", map[bool]string{false: "pause", true: "go on"}[v.paused])
	lines := strings.Split(cli.Escape(b.String()), "\n")
	var out strings.Builder
	out.WriteString("\x1b[H")
	for i, line := range lines[:min(len(lines), high)] {
		if i > 0 {
			out.WriteString("\r\n")
		}
		if r := []rune(line); len(r) > wide {
			line = string(r[:wide])
		}
		out.WriteString(line + "\x1b[K")
	}
	out.WriteString("\x1b[J")
	fmt.Fprint(cli.Raw(v.Out), out.String())
}

// topLogLines is the number of log lines below the table.
const topLogLines = 10

// lastEntries returns the newest log lines of the queried node, without texts of memories. If the token has no scope
// admin, it returns the error as a line.
func (v *top) lastEntries(ctx context.Context, at string) []string {
	failed := func(err error) string { return "the log: " + err.Error() }
	r, err := v.t.RequestAt(ctx, "GET", fmt.Sprintf("%s%s?limit=%d", at, api.Log.Path(), topLogLines), nil, nil)
	if err != nil {
		return []string{failed(err)}
	}
	defer r.Close()
	var said []string
	for l, err := range cli.Values[api.LogLine](r) {
		if err != nil {
			return append(said, failed(err))
		}
		said = append(said, logText(l))
	}
	return said
}

// logText formats an entry as one line.
func logText(l api.LogLine) string {
	at := time.UnixMicro(int64(l.Time * 1e6)).Local().Format(time.TimeOnly)
	return fmt.Sprintf("%s  %-9d node %-3d %-12s %s", at, l.Index, l.Node, cmp.Or(l.Database, "-"), describeOperations(l))
}

// topHelp is the text shown by the key ?.
const topHelp = `
WRITES/S, RECALLS/S  of the last interval; P50 and P99 beside them are how long each took
TO APPLY             acknowledged entries that the node has yet to apply
TO INDEX             entries that it has applied and not indexed
BUSIEST              the step of a write that was at work for the largest share of the interval: log, apply or index; near 100% it limits the writes
SLOW                 operations of the last interval that went to the slow log
STATE, DISK FREE     its files, and what its disk has left`
