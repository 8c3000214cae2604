package cairntest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// Node is a node that runs as a process.
type Node struct {
	T      testing.TB
	Args   []string
	Cmd    *exec.Cmd
	Line   cli.Ready
	Log    *LogBuffer
	CAFile string // certificate authority, if the node uses TLS

	Token string // the cluster secret; blank for a node without peers

	Netns string // network namespace to run in; blank: the test's own
	Bin   string // binary of another version; blank: this version

	Env         []string             // environment variables in addition to this process's
	SysProcAttr *syscall.SysProcAttr // to run as another user
}

// LogBuffer collects the output of a process, and may be read while the process runs.
type LogBuffer struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

// Bytes returns a copy of the output so far.
func (l *LogBuffer) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b)
}

func (l *LogBuffer) String() string { return string(l.Bytes()) }

// Launch starts a node; up waits until it prints its ready line.
func (p *Node) Launch() (up func()) {
	p.T.Helper()
	p.Cmd = Command(context.Background(), p.Args...)
	if p.Netns != "" {
		env := p.Cmd.Env
		p.Cmd = exec.Command("ip", append([]string{"netns", "exec", p.Netns, Binary()}, p.Args...)...)
		p.Cmd.Env = env
	}
	if p.Bin != "" {
		p.Cmd.Path, p.Cmd.Args[0] = p.Bin, p.Bin
	}
	p.Cmd.Env = append(p.Cmd.Env, p.Env...)
	if p.SysProcAttr != nil {
		p.Cmd.SysProcAttr, p.Cmd.Dir = p.SysProcAttr, "/"
	}
	p.Log = &LogBuffer{}
	p.Cmd.Stderr = p.Log
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		p.T.Fatal(err)
	}
	cmd := p.Cmd
	return func() {
		p.T.Helper()
		guard := time.AfterFunc(suite.Patience, func() { cmd.Process.Kill() })
		defer guard.Stop()
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil {
			p.T.Fatalf("no ready line: %v\n%s", err, p.Log)
		}
		if err := json.Unmarshal(line, &p.Line); err != nil || !p.Line.Ready {
			p.T.Fatalf("ready line %q: %v", line, err)
		}
	}
}

// WaitForLog waits until the process's log contains a text, and reports whether it does.
func (p *Node) WaitForLog(text string) bool {
	return suite.Within(suite.Patience, func() bool { return strings.Contains(p.Log.String(), text) })
}

// Kill kills the process with SIGKILL and waits for its end.
func (p *Node) Kill() {
	if p.Cmd != nil {
		p.Cmd.Process.Kill()
		p.Cmd.Wait()
		p.Cmd = nil
	}
}

// Signal sends the process a signal.
func (p *Node) Signal(s syscall.Signal) {
	p.T.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// Stop ends the process with SIGTERM. If it hangs, Stop kills it and returns an error.
func (p *Node) Stop() error {
	p.Cmd.Process.Signal(syscall.SIGTERM)
	err := p.Wait()
	p.Cmd = nil
	return err
}

// Wait waits for the process's end. If it hangs, Wait kills it and returns an error.
func (p *Node) Wait() error {
	cmd := p.Cmd
	defer time.AfterFunc(suite.Patience, func() { cmd.Process.Kill() }).Stop()
	return cmd.Wait()
}

// ExpectFailure waits until the process ends by itself. It fails the test unless the exit code is that of a failure
// and the final error contains the given texts.
func (p *Node) ExpectFailure(says ...string) {
	p.T.Helper()
	err := p.Wait()
	p.Cmd = nil
	log := p.Log.String()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitFailed {
		p.T.Fatalf("it ended with %v, want exit code %d:\n%s", err, cli.ExitFailed, Tail(log, 4000))
	}
	_, last, _ := strings.Cut("\n"+log, "\ncairn: ")
	for _, s := range says {
		if !strings.Contains(last, s) {
			p.T.Errorf("it does not say %q as its last words:\n%s", s, Tail(log, 2000))
		}
	}
}

// TokenFile writes the node's token into a file and returns its path.
func (p *Node) TokenFile() string {
	p.T.Helper()
	path := filepath.Join(p.T.TempDir(), "token")
	if err := os.WriteFile(path, []byte(p.Token), 0o600); err != nil {
		p.T.Fatal(err)
	}
	return path
}
