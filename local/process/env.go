package process

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/environ"
)

// login is the PATH of the user's login shell: a server that a service manager started has a poorer one.
type login struct {
	once      sync.Once
	path      atomic.Pointer[string]
	extracted chan struct{}
}

const (
	pathTimeout  = 4 * time.Second
	pathSentinel = "___CLAUDE_SSH_PATH_EXTRACT___"
)

// extractPath asks the login shell.
func (s *Server) extractPath() {
	defer close(s.login.extracted)
	shell := loginShell()
	if shell == "" {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, pathTimeout)
	defer cancel()
	c := exec.Command(shell, "-l", "-i", "-c", `/bin/sh -c 'printf "%s%s\n" "`+pathSentinel+`" "$PATH"'`)
	c.Env = append(environ.Clean(), "DISABLE_AUTO_UPDATE=true", "ZSH_DISABLE_COMPFIX=true")
	var said limited
	err := runAlone(ctx, c, syscall.SIGHUP, politeTime, said.take, nil)
	if ctx.Err() != nil {
		return // what it has said until now may be half of it
	}
	if err != nil {
		s.log.Debug("[shellenv] Shell command exited with error (may still have PATH): " + oneLine(err.Error()))
	}
	for lines := bufio.NewScanner(&said); lines.Scan(); {
		if _, path, ok := strings.Cut(lines.Text(), pathSentinel); ok {
			if path = strings.TrimSpace(path); path != "" {
				s.login.path.Store(&path)
				s.log.Info("[shellenv] Extracted shell PATH (" + itoa(len(path)) + " chars)")
			}
			return
		}
	}
	s.log.Warn("[shellenv] PATH sentinel not found in shell output")
}

// runAlone runs a command in a session of its own: it has no terminal to take, to stop for or to ask at. When ctx ends
// first, its whole group gets a polite signal, so that it removes what it had locked, and after a grace SIGKILL. What it
// writes goes to out, and to errs; both to out when there is no errs.
func runAlone(ctx context.Context, c *exec.Cmd, polite syscall.Signal, grace time.Duration, out, errs func([]byte)) error {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	c.Stderr = c.Stdout
	var stderr io.ReadCloser
	if errs != nil {
		c.Stderr = nil
		if stderr, err = c.StderrPipe(); err != nil {
			return err
		}
	}
	if err := c.Start(); err != nil {
		return err
	}
	var said pipes
	said.read(stdout.(*os.File), out)
	if errs != nil {
		said.read(stderr.(*os.File), errs)
	}
	left := make(chan struct{})
	go func() { awaitExit(c.Process); close(left) }() // a zombie until Wait: the group's number stays its own
	select {
	case <-left:
	case <-ctx.Done():
		_ = syscall.Kill(-c.Process.Pid, polite) // a group that is gone needs no signal
		select {
		case <-left:
		case <-time.After(grace):
		}
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		<-left
	}
	said.finish(lingerTime, nil)
	return c.Wait()
}

const (
	politeTime = time.Second            // to leave when asked to
	lingerTime = 300 * time.Millisecond // that whatever else holds its pipes open is waited for
)

// limited keeps the first MiB of what a shell says.
type limited struct{ bytes.Buffer }

func (l *limited) take(b []byte) { l.Write(b[:min(len(b), max(0, 1<<20-l.Len()))]) }

func loginShell() string {
	for _, sh := range []string{os.Getenv("SHELL"), "/bin/zsh", "/bin/bash", "/bin/sh"} {
		if i, err := os.Stat(sh); sh != "" && err == nil && i.Mode().IsRegular() && i.Mode().Perm()&0o111 != 0 {
			return sh
		}
	}
	return ""
}

// warm asks the login shell once, in the background.
func (s *Server) warm() { s.login.once.Do(func() { s.tasks.Go(s.extractPath) }) }

// path is the PATH commands are looked up in. The first process waits for the login shell.
func (s *Server) path() string {
	s.warm()
	<-s.login.extracted
	if p := s.login.path.Load(); p != nil {
		return *p
	}
	return os.Getenv("PATH")
}

// childEnv is the environment of a child: the server's as clients' programs may see it, the login shell's PATH, and what
// the request adds.
func (s *Server) childEnv(extra map[string]string) []string {
	env := environ.Clean()
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		env = append(env, name+"="+value)
	}
	set("PATH", s.path())
	set("CLAUDE_SSH_DAEMON_CHILD", "1")
	for k, v := range extra {
		set(k, v)
	}
	return env
}

func pathOf(env []string) string {
	for _, kv := range env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			return p
		}
	}
	return ""
}

// catchIgnoredSignals keeps what this process was started to ignore, below nohup or in the background of a script, from its children:
// a client's INT is to reach them. A signal that is caught and not read has as little effect here as one that is ignored.
func catchIgnoredSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// sealDescriptors keeps what this process was started with from its children: those it opens itself are sealed already.
func sealDescriptors() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return // a system without it: there is nothing to go by
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is sealed
	for _, n := range names {
		if fd, err := strconv.Atoi(n); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
