package raft

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// lockedBuffer collects the log lines of several nodes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// lines returns the lines that contain a text.
func (b *lockedBuffer) lines(text string) (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for l := range strings.Lines(b.b.String()) {
		if strings.Contains(l, text) {
			list = append(list, l)
		}
	}
	return list
}

// TestAPeerThatIsDownIsLoggedOnce: a leader that fails to reach a member repeatedly logs that once, and logs once
// that the member is back.
func TestAPeerThatIsDownIsLoggedOnce(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	var logged lockedBuffer
	c := startWith(t, 3, &cluster{fastRejoin: true, log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c.propose(0, 5)
	leader := int(c.leader().cfg.NodeID - 1)
	away := (leader + 1) % 3
	if err := c.nodes[away].Close(); err != nil {
		t.Fatal(err)
	}
	begun, before := len(logged.lines("failed to heartbeat to")), len(logged.lines("failed to "))
	c.wait("several heartbeats that fail", func() bool { return len(logged.lines("failed to heartbeat to")) >= begun+4 })
	c.propose(5, 10)
	c.reopen(away, "secret", slices.Delete(slices.Clone(c.addrs), away, away+1))
	c.wait("the member to be back", func() bool { return len(logged.lines("peer answers again")) > 0 })
	for _, text := range []string{"peer does not answer", "peer answers again"} {
		if lines := logged.lines(text); len(lines) != 1 {
			t.Errorf("%d lines of %q: %q", len(lines), text, lines)
		}
	}
	for _, l := range logged.lines("failed to ")[before:] {
		if !strings.Contains(l, "level=DEBUG") {
			t.Errorf("an operator reads %s", l)
		}
	}
}
