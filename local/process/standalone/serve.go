package standalone

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/process"
	"github.com/cairndb/cairn/node/api"
)

// Environment variables that the launcher sets for the daemon. envDaemon marks the process as the daemon; the pipes
// pass the token and the result of the start.
const (
	envDaemon      = "CLAUSTRUM_DAEMON_CHILD"
	envTokenPipe   = "CLAUSTRUM_TOKEN_PIPE"
	envStatusPipe  = "CLAUSTRUM_STATUS_PIPE"
	envDaemonChild = "CLAUDE_SSH_DAEMON_CHILD" // stays in the environment of the daemon's children
	envRPCToken    = "CLAUDE_RPC_TOKEN"
)

// launchTimeout bounds the wait of the launcher for its daemon.
const launchTimeout = 30 * time.Second

func serve(o *options, p Program) error {
	if o.tokenFile == "" && o.tokenFD < 0 {
		return errors.New("daemonized child requires --token-file or --token-fd")
	}
	if os.Getenv(envDaemon) == "1" {
		return daemon(o, p.ID)
	}
	return launch(o, p)
}

// launch starts the daemon in its own session. It returns when the daemon accepts connections, or with the error of
// its start.
func launch(o *options, p Program) error {
	token, err := o.launcherToken()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	tokenR, tokenW, err := os.Pipe()
	if err != nil {
		return err
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer statusR.Close()
	c := &exec.Cmd{Path: exe, Args: os.Args, Stdout: o.output(os.Stdout), Stderr: o.output(os.Stderr),
		ExtraFiles: []*os.File{tokenR, statusW},
		Env:        append(os.Environ(), envDaemon+"=1", envDaemonChild+"=1", envStatusPipe+"=4"), SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if o.tokenFD >= 0 {
		c.Env = append(c.Env, envTokenPipe+"=3")
	}
	err = c.Start()
	tokenR.Close()
	statusW.Close()
	if err != nil {
		tokenW.Close()
		return err
	}
	_, werr := tokenW.Write(token) // a pipe can buffer the longest token
	tokenW.Close()
	if werr != nil && o.tokenFD >= 0 {
		return fmt.Errorf("read --token-fd: %w", werr)
	}
	if err := statusR.SetReadDeadline(time.Now().Add(launchTimeout)); err != nil {
		return err
	}
	report, err := io.ReadAll(statusR)
	if string(report) == "ok" {
		fmt.Fprintf(p.Out, "Claustrum remote server listening on %s\n", o.socket)
		return nil
	}
	switch {
	case len(report) > 0: // the error of the daemon
		return errors.New(string(report))
	case err != nil:
		return errors.Join(fmt.Errorf("the daemon did not come up: %w", err), c.Process.Kill())
	}
	return errors.New("the daemon ended before it listened")
}

// launcherToken reads the token from the descriptor of --token-fd. It returns nil if the token is in a file.
func (o *options) launcherToken() ([]byte, error) {
	if o.tokenFD < 0 {
		return nil, nil
	}
	f := os.NewFile(uintptr(o.tokenFD), "token")
	if f == nil {
		return nil, fmt.Errorf("read --token-fd: descriptor %d is not open", o.tokenFD)
	}
	token, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return nil, fmt.Errorf("read --token-fd: %w", err)
	}
	return token, nil
}

// output returns the file for the daemon's output in place of f. It is f unless f is a pipe: the reader of a pipe
// would wait for the end of the daemon. For a pipe it is a log file next to the socket, or nil if that cannot be
// opened, which discards the output.
func (o *options) output(f *os.File) io.Writer {
	if i, err := f.Stat(); err == nil && i.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f
	}
	log, err := os.OpenFile(filepath.Join(filepath.Dir(o.socket), "remote-server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil
	}
	return log // not closed: the launcher ends soon
}

const maxToken = 32 << 10

// daemonToken reads the token from the pipe, or from the file, which it then removes.
func (o *options) daemonToken() (string, error) {
	var b []byte
	var err error
	if n, perr := strconv.Atoi(os.Getenv(envTokenPipe)); perr == nil {
		f := os.NewFile(uintptr(n), "token")
		b, err = io.ReadAll(io.LimitReader(f, maxToken+1))
		err = errors.Join(err, f.Close())
	} else {
		if b, err = os.ReadFile(o.tokenFile); err != nil {
			return "", fmt.Errorf("read --token-file: %w", err)
		}
		err = os.Remove(o.tokenFile)
	}
	if err != nil {
		return "", fmt.Errorf("read --token-file: %w", err)
	}
	if line, ok := bytes.CutSuffix(b, []byte("\n")); ok { // removes one line ending
		b = bytes.TrimSuffix(line, []byte("\r"))
	}
	if len(b) == 0 || len(b) > maxToken {
		return "", fmt.Errorf("the token is empty or longer than %d bytes", maxToken)
	}
	return string(b), nil
}

// errReported is an error that the launcher has printed already.
var errReported = errors.New("reported")

// daemon runs as the detached process.
func daemon(o *options, id string) (err error) {
	status := os.Stdout
	if n, perr := strconv.Atoi(os.Getenv(envStatusPipe)); perr == nil {
		status = os.NewFile(uintptr(n), "status")
		syscall.CloseOnExec(n)
		if os.Getenv(envTokenPipe) == "" {
			syscall.Close(3) // the token is in a file, so the token pipe is not used
		}
	}
	listening := false
	defer func() {
		if err != nil && !listening {
			io.WriteString(status, err.Error())
			status.Close()
			err = errReported
		}
	}()
	token, err := o.daemonToken()
	for _, name := range []string{envTokenPipe, envStatusPipe, envRPCToken, envDaemon} {
		err = errors.Join(err, os.Unsetenv(name))
	}
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGPIPE) // caught, not ignored: children inherit ignored signals
	log := newLogger(os.Stderr, os.Getenv("CLAUSTRUM_LOG_LEVEL"))
	s, err := process.Listen(process.Config{Socket: o.socket, Token: token, Version: id, SpillDir: spillDir(o.socket),
		WarmPath: true, KeepChildren: o.keepChildren, Door: api.At{Host: process.Alone, Also: process.AllScopes}, Logger: log})
	if err != nil {
		return err
	}
	if o.metrics != "" {
		defer serveMetrics(o.metrics, s, log)()
	}
	listening = true
	if _, err := io.WriteString(status, "ok"); err != nil {
		log.Warn("[Server] the launcher is gone: " + err.Error())
	}
	status.Close()
	select {
	case <-signals:
	case <-s.Done():
	}
	return s.Close()
}

// spillDir returns the directory for old frames: that of the socket if it is writable, else the system's temporary
// directory.
func spillDir(socket string) string {
	if dir := filepath.Dir(socket); dir != "" {
		if f, err := os.CreateTemp(dir, "replay-*"); err == nil {
			f.Close()
			os.Remove(f.Name())
			return dir
		}
	}
	return os.TempDir()
}

// bridge copies between stdin and stdout and the socket.
func bridge(o *options, p Program) error {
	nc, err := net.Dial("unix", o.socket)
	if err != nil {
		return fmt.Errorf("dial server: %w", err)
	}
	defer nc.Close()
	go func() { // ends with the program: reading stdin cannot be interrupted
		if _, err := io.Copy(nc, p.In); err == nil {
			_ = nc.(*net.UnixConn).CloseWrite()
		}
	}()
	if _, err := io.Copy(p.Out, nc); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	return nil
}

// stopTimeout bounds the wait of -stop for a daemon.
const stopTimeout = 2 * time.Second

// stop requests the shutdown of a daemon. If none is running, it does nothing.
func stop(o *options, out io.Writer) {
	nc, err := net.DialTimeout("unix", o.socket, stopTimeout)
	if err != nil {
		return
	}
	defer nc.Close()
	if nc.SetDeadline(time.Now().Add(stopTimeout)) != nil {
		return
	}
	auth, _ := json.Marshal(os.Getenv(envRPCToken)) // a string
	if _, err := fmt.Fprintf(nc, `{"jsonrpc":"2.0","id":1,"method":"server.shutdown","auth":%s}`+"\n", auth); err != nil {
		return
	}
	_, _ = io.Copy(out, nc) // until the daemon closes the connection
}
