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

// loginPath returns the PATH of the user's login shell, because a service manager starts servers with a shorter one.
// If the shell does not answer in time, it returns the server's own PATH.
func (s *Server) loginPath() string {
	own, shell := os.Getenv("PATH"), loginShell()
	if shell == "" {
		return own
	}
	ctx, cancel := context.WithTimeout(s.Ctx, pathTimeout)
	defer cancel()
	c := exec.Command(shell, "-l", "-i", "-c", `/bin/sh -c 'printf "%s%s\n" "`+pathSentinel+`" "$PATH"'`)
	c.Env = append(environ.Clean(), "DISABLE_AUTO_UPDATE=true", "ZSH_DISABLE_COMPFIX=true")
	output := outputCapture{limit: 1 << 20}
	err := child.Run(ctx, child.Program{Cmd: c, Out: output.stdout, StopSignal: syscall.SIGHUP}) // SIGHUP lets the shell release its locks
	if ctx.Err() != nil {
		return own // the output may be incomplete
	}
	if err != nil {
		s.Log.Debug("[shellenv] Shell command exited with error (may still have PATH): " + oneLine(err.Error()))
	}
	for lines := bufio.NewScanner(&output.out); lines.Scan(); {
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

// childEnv returns the environment of a child: that of the server without its own settings, the PATH of the login
// shell, and the variables of the request. If a name occurs twice, the last value wins.
func (s *Server) childEnv(extra map[string]string) []string {
	env := append(environ.Clean(), "PATH="+s.path(), "CLAUDE_SSH_DAEMON_CHILD=1")
	for k, v := range extra {
		env = append(env, k+"="+v)
	}
	return env
}

// catchIgnoredSignals catches the signals that this process ignores since its start, as below nohup or as a
// background job of a script. Children inherit ignored signals, and a client must be able to send INT to them.
// Nothing reads the caught signals, so they have no effect here.
func catchIgnoredSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// setCloseOnExec makes inherited descriptors close-on-exec, so that children do not get them. Go already opens its
// own descriptors that way.
func setCloseOnExec() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return // this system has no /dev/fd
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // after an error: the names that were read so far
	for _, n := range names {
		if fd, err := strconv.Atoi(n); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
