package process

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/child"
	"github.com/cairndb/cairn/local/environ"
)

const (
	pathTimeout  = 4 * time.Second
	pathSentinel = "___CLAUDE_SSH_PATH_EXTRACT___"
)

// loginPath is the PATH of the user's login shell: a server that a service manager started has a poorer one. It is this
// server's own where the shell does not say it in time.
func (s *Server) loginPath() string {
	own, shell := os.Getenv("PATH"), loginShell()
	if shell == "" {
		return own
	}
	ctx, cancel := context.WithTimeout(s.Ctx, pathTimeout)
	defer cancel()
	c := exec.Command(shell, "-l", "-i", "-c", `/bin/sh -c 'printf "%s%s\n" "`+pathSentinel+`" "$PATH"'`)
	c.Env = append(environ.Clean(), "DISABLE_AUTO_UPDATE=true", "ZSH_DISABLE_COMPFIX=true")
	said := capture{most: 1 << 20}
	err := child.Run(ctx, child.Program{Cmd: c, Out: said.stdout, Polite: syscall.SIGHUP}) // which leaves it time to drop its locks
	if ctx.Err() != nil {
		return own // what the shell has said until now may be half of it
	}
	if err != nil {
		s.Log.Debug("[shellenv] Shell command exited with error (may still have PATH): " + oneLine(err.Error()))
	}
	for lines := bufio.NewScanner(&said.out); lines.Scan(); {
		if _, path, ok := strings.Cut(lines.Text(), pathSentinel); ok {
			if path = strings.TrimSpace(path); path == "" {
				return own
			}
			s.Log.Info("[shellenv] Extracted shell PATH (" + itoa(len(path)) + " chars)")
			return path
		}
	}
	s.Log.Warn("[shellenv] PATH sentinel not found in shell output")
	return own
}

func loginShell() string {
	for _, sh := range []string{os.Getenv("SHELL"), "/bin/zsh", "/bin/bash", "/bin/sh"} {
		if i, err := os.Stat(sh); sh != "" && err == nil && i.Mode().IsRegular() && i.Mode().Perm()&0o111 != 0 {
			return sh
		}
	}
	return ""
}

// childEnv is the environment of a child: the server's as clients' programs may see it, the login shell's PATH, and
// what the request adds. The last value of a name counts.
func (s *Server) childEnv(extra map[string]string) []string {
	env := append(environ.Clean(), "PATH="+s.path(), "CLAUDE_SSH_DAEMON_CHILD=1")
	for k, v := range extra {
		env = append(env, k+"="+v)
	}
	return env
}

// catchIgnoredSignals ends the ignoring of signals that this process was started with, below nohup or in the background
// of a script: children inherit it, and a client's INT is to reach them. A signal that is caught and not read has as
// little effect here as one that is ignored.
func catchIgnoredSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// sealDescriptors closes the descriptors that this process was started with in its children. Those that it opens itself
// are close-on-exec.
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
