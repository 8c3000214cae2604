package process_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// messages collects the lines that a server logs.
type messages struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, r.Level.String()+" "+r.Message)
	return nil
}

func (m *messages) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.all, "\n")
}

// TestLogLines checks the messages that operators search the log for. Each is one line, whatever clients send.
func TestLogLines(t *testing.T) {
	t.Parallel()
	log := &messages{Handler: slog.DiscardHandler}
	socket := filepath.Join(t.TempDir(), "s")
	s, err := process.Listen(process.Config{Socket: socket, Token: token, SpillDir: t.TempDir(),
		Door: api.At{Host: process.Alone, Also: process.AllScopes}, Logger: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p := connect(t, socket)
	p.write(`{"jsonrpc":"2.0","id":"x\ny","method":"server.ping\nINFO","auth":"wrong"}` + "\n")
	p.write(`{"jsonrpc":"2.0","method":"server.ping"}` + "\n")
	for range 2 {
		if l, err := p.lines.ReadString('\n'); err != nil {
			t.Fatal(l, err)
		}
	}
	p.call("process.spawn", map[string]any{"id": "a\nb", "command": "/no/such"})
	p.sh("a\nb", "exit 3")
	p.exit("a\nb")
	p.nc.Close()
	for _, want := range []string{
		`INFO \[Server\] New connection from: @?`,
		`WARN \[Server\] Unauthorized request: method=server\.ping\?INFO, id="x\\ny"`,
		`WARN \[Server\] Unauthorized request: method=server\.ping, id=`,
		`ERROR \[process\.Manager\] Failed to start process a\?b: fork/exec /no/such: no such file or directory`,
		`INFO \[process\.Manager\] Process a\?b started, PID=\d+, command=/bin/sh`,
		`DEBUG \[process\.Manager\] Starting stdout streaming for process a\?b`,
		`DEBUG \[process\.Manager\] Starting stderr streaming for process a\?b`,
		`INFO \[process\.Manager\] Process a\?b exited with code 3`,
		`INFO \[Server\] Connection closed: @?`,
	} {
		line := regexp.MustCompile(`(?m)^` + want + `$`)
		if !suite.Within(suite.Patience, func() bool { return line.MatchString(log.text()) }) {
			t.Errorf("no line %s in\n%s", want, log.text())
		}
	}
}
