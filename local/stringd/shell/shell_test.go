package shell

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// alive reports whether a process runs.
func alive(pid int) bool {
	b, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(string(b), "Z")
}

// tried is a shell under test.
type tried struct {
	*Shell
	t    *testing.T
	home string
}

func try(t *testing.T, grace time.Duration) tried {
	if signal.Ignored(os.Interrupt) { // the tests run as a background job: children would ignore it too, so catch it as a node does
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	s := tried{New(Config{Environ: os.Environ(), Temp: t.TempDir(), Grace: grace}), t, t.TempDir()}
	t.Cleanup(s.Close)
	return s
}

// says runs a command and checks its output.
func (s tried) says(cmd, want string) {
	s.t.Helper()
	out, err := s.Run(s.t.Context(), s.home, cmd, suite.Patience)
	if err != nil || out.TimedOut || out.Text != want {
		s.t.Errorf("%s: %+v, %v; want %q", cmd, out, err, want)
	}
}

// cut runs a command and cancels it after its first line of output. It returns the output.
func (s tried) cut(cmd string) string {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	ended := make(chan Out, 1)
	go func() {
		out, err := s.Run(ctx, s.home, cmd, suite.Patience)
		if err != nil {
			out.Text = err.Error()
		}
		ended <- out
	}()
	suite.Eventually(s.t, "it says a line", func() bool {
		s.mu.Lock()
		l := s.proc
		s.mu.Unlock()
		if l == nil {
			return false
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		said := l.output.all()
		return strings.Contains(said, "\n") && !strings.Contains(said, "\x1e") // the marker of the previous command
	})
	stop()
	out := <-ended
	if !out.TimedOut || out.Status != 130 {
		s.t.Errorf("%s: %+v", cmd, out)
	}
	return out.Text
}

// A canceled command is interrupted, and the shell keeps its variables.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := try(t, suite.Patience)
	s.says("v=kept", "")
	if got := s.cut("(echo partial; exec sleep 1000)"); got != "partial" {
		t.Errorf("what came before is %q", got)
	}
	s.says("echo $v", "kept")
	s.cut("(echo reads; exec cat)")
	s.says("echo clean$v", "cleankept")
}

// A program that ignores the interrupt is killed with its shell, and a command over its timeout ends.
func TestStubborn(t *testing.T) {
	t.Parallel()
	s := try(t, 50*time.Millisecond)
	s.says("v=lost", "")
	pid, err := strconv.Atoi(s.cut("trap '' INT; (echo $BASHPID; while :; do sleep 1000; done)"))
	if err != nil {
		t.Fatal(err)
	}
	s.says("echo new$v", "new")
	suite.Eventually(t, "the stubborn one is dead", func() bool { return !alive(pid) })
	if out, err := s.Run(t.Context(), s.home, "sleep 1000", 50*time.Millisecond); err != nil || !out.TimedOut {
		t.Errorf("%+v, %v", out, err)
	}
}

// The last output of a shell is returned, even if a process that left its session keeps the terminal open.
func TestLastWords(t *testing.T) {
	t.Parallel()
	s := try(t, suite.Patience)
	for range 3 {
		s.says("echo bye; exit 3", "bye")
	}
	s.says("(setsid sh -c 'echo $$ > ~/away; exec sleep 1000' &); while [ ! -s ~/away ]; do sleep 0.01; done; echo gone; exit", "gone")
	b, err := os.ReadFile(filepath.Join(s.home, "away"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid == 0 || !alive(pid) {
		t.Fatalf("%q, %v: it should have survived", b, err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestOnceLeavesNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	once := func(ctx context.Context, text string, timeout time.Duration) Out {
		out, err := Once(ctx, Line{Text: text, Dir: home, Environ: append(os.Environ(), "HOME="+home), Timeout: timeout})
		if err != nil {
			t.Error(err)
		}
		return out
	}
	pid := func(name string) (n int) {
		suite.Eventually(t, name+" runs", func() bool {
			b, _ := os.ReadFile(filepath.Join(home, name))
			n, _ = strconv.Atoi(strings.TrimSpace(string(b)))
			return n > 0
		})
		return n
	}
	if out := once(t.Context(), "sleep 1000 & echo $! > ~/left; echo said | cat", suite.Patience); out.Text != "said" || out.TimedOut {
		t.Errorf("%+v", out)
	}
	suite.Eventually(t, "what it left is dead", func() bool { return !alive(pid("left")) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan Out, 1)
	go func() { ended <- once(ctx, "echo first; sleep 1000 & echo $! > ~/bg; sleep 1000", suite.Patience) }()
	bg := pid("bg")
	stop()
	if out := <-ended; !out.TimedOut || out.Text != "first" {
		t.Errorf("cut off: %+v", out)
	}
	suite.Eventually(t, "what it had started is dead", func() bool { return !alive(bg) })
	for _, timeout := range []time.Duration{50 * time.Millisecond, time.Nanosecond} { // the second timeout ends before the command begins
		if out := once(t.Context(), "sleep 1000", timeout); !out.TimedOut {
			t.Errorf("%+v", out)
		}
	}
}
