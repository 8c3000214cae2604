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

// Node is a running node.
type Node struct {
	T    testing.TB
	Args []string
	Cmd  *exec.Cmd
	Line cli.Ready
	Log  *Logged
	Ca   string // of a node that speaks TLS

	Token string // the cluster secret, of a member alone

	Netns string // where it runs, if not here
	Bin   string // another version's binary; empty for this one

	Env  []string             // in addition to this process's
	Attr *syscall.SysProcAttr // of another user's
}

// Logged collects what a process has written so far; it may be read while the process runs.
type Logged struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (l *Logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	return len(p), nil
}

// Bytes is a copy of what was written so far.
func (l *Logged) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b)
}

func (l *Logged) String() string { return string(l.Bytes()) }

// Launch starts a node; up waits for its line.
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
	if p.Attr != nil {
		p.Cmd.SysProcAttr, p.Cmd.Dir = p.Attr, "/"
	}
	p.Log = &Logged{}
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

// Says returns when what the process has written so far, or writes soon, holds a text: what it wrote comes through a
// pipe.
func (p *Node) Says(text string) bool {
	return suite.Within(suite.Patience, func() bool { return strings.Contains(p.Log.String(), text) })
}

// Kill ends the process without warning and waits for its end.
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

// Stop ends the process with SIGTERM; one that hangs is killed, which is an error.
func (p *Node) Stop() error {
	p.Cmd.Process.Signal(syscall.SIGTERM)
	err := p.End()
	p.Cmd = nil
	return err
}

// End waits for the process's end; one that hangs is killed, which is an error.
func (p *Node) End() error {
	cmd := p.Cmd
	defer time.AfterFunc(suite.Patience, func() { cmd.Process.Kill() }).Stop()
	return cmd.Wait()
}

// Ends waits for a process to end by itself with the exit code of a failure, and looks at what it said.
func (p *Node) Ends(says ...string) {
	p.T.Helper()
	err := p.End()
	p.Cmd = nil
	log := p.Log.String()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != cli.ExitFailed {
		p.T.Fatalf("it ended with %v, want exit code %d:\n%s", err, cli.ExitFailed, TailOf(log, 4000))
	}
	_, last, _ := strings.Cut("\n"+log, "\ncairn: ")
	for _, s := range says {
		if !strings.Contains(last, s) {
			p.T.Errorf("it does not say %q as its last words:\n%s", s, TailOf(log, 2000))
		}
	}
}

// TokenFile has the node's token in a file.
func (p *Node) TokenFile() string {
	p.T.Helper()
	path := filepath.Join(p.T.TempDir(), "token")
	if err := os.WriteFile(path, []byte(p.Token), 0o600); err != nil {
		p.T.Fatal(err)
	}
	return path
}
