package process_test

import (
	"io"
	"log/slog"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/node/api"
)

const token = "s3cret token"

func listen(t testing.TB) (socket string, s *process.Server) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	log := &output{w: t.Output()}
	t.Cleanup(log.end)
	s, err := process.Listen(process.Config{Socket: socket, Token: token, SpillDir: t.TempDir(),
		Door:   api.At{Host: process.Alone, Also: process.AllScopes},
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return socket, s
}

// output writes to the log of a test until the test is over. Close waits only a limited time for the server's tasks,
// and no task may write to the log of a finished test.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.w = io.Discard
}

// Children do not inherit the signals that the server ignores since its start.
func TestChildrenHeedSignals(t *testing.T) {
	t.Parallel()
	signal.Ignore(syscall.SIGHUP) // it is not reset, because a reset could ignore it again
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "kill -HUP $$; exit 3")
	if l := p.exit("p"); *l.ExitCode != -1 {
		t.Errorf("exit code %d", *l.ExitCode)
	}
}
