package sift

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/oplog/pause"
)

// listener is one socket. Requests name no workspace: the socket selects it.
type listener struct {
	s         *Server
	path      string
	workspace *Workspace // nil on the control socket
	ctx       context.Context
	cancel    context.CancelFunc

	mu     sync.Mutex
	socket *serve.Socket
}

// listen claims a path and serves it until the listener is closed.
func (s *Server) listen(path string, w *Workspace) (*listener, error) {
	l := &listener{s: s, path: path, workspace: w}
	l.ctx, l.cancel = context.WithCancel(s.Open)
	if err := l.claim(); err != nil {
		l.cancel()
		return nil, err
	}
	s.Go(l.watch)
	return l, nil
}

// claim creates the socket, unless another daemon answers on it. For a workspace, checkNoDaemon has checked that
// before, so claim replaces an existing socket.
func (l *listener) claim() error {
	if err := serve.CheckPath(l.path); err != nil {
		return err
	}
	alive := daemonAnswers
	if l.workspace != nil {
		alive = nil
	}
	socket, err := serve.Claim(l.path, alive)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil { // closed meanwhile
		return socket.Close()
	}
	l.socket = socket
	l.s.Accept(socket, "siftcoder", l.s.cfg.MaxConns, func(c net.Conn) { l.serve(c.(*net.UnixConn)) }, rejectFull)
	return nil
}

// checkNoDaemon returns an error if another live daemon serves the workspace. Clients know the text of the error.
func (s *Server) checkNoDaemon(key, socket string) error {
	raw, err := os.ReadFile(s.cfg.files(key, filePid))
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || pid <= 0 || pid == os.Getpid() {
		return nil
	}
	if e := syscall.Kill(pid, 0); (e == nil || errors.Is(e, syscall.EPERM)) && daemonAnswers(socket) {
		return fmt.Errorf("daemon already running for this workspace (pid=%d); refusing to start a second instance", pid)
	}
	return nil
}

// pingTimeout is long, because the other daemon may be busy. A stale socket rejects the connection at once.
const pingTimeout = 10 * time.Second

// daemonAnswers reports whether a daemon on the socket answers a ping.
func daemonAnswers(socket string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	_, err := Call(ctx, socket, json.RawMessage(`{"kind":"ping"}`))
	return err == nil
}

// watchEvery is the interval at which a listener checks that the file at its path is still its socket.
const watchEvery = 500 * time.Millisecond

// watch claims the path again when another process has replaced the socket. A client that starts its own daemon does
// that. It logs an error once, however often it tries.
func (l *listener) watch() {
	failed := ""
	for range pause.Ticks(l.ctx.Done(), watchEvery) {
		l.mu.Lock()
		old := l.socket
		l.mu.Unlock()
		if old.InPlace() || l.ctx.Err() != nil {
			continue
		}
		if failed == "" {
			l.s.Log.Error("socket was replaced by another process; listening again", "socket", l.path)
		}
		if err := cmp.Or(os.MkdirAll(filepath.Dir(l.path), 0o700), l.claim()); err != nil {
			if err.Error() != failed {
				failed = err.Error()
				l.s.Log.Error("socket not claimed", "socket", l.path, "err", err)
			}
			continue
		}
		failed = ""
		old.Close()
	}
}

// close stops listening, closes the connections that have sent no request yet, and removes the files of this process.
func (l *listener) close() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.workspace; w != nil {
		own := l.s.cfg.files(w.Key, filePid)
		if raw, err := os.ReadFile(own); err == nil && strings.TrimSpace(string(raw)) == strconv.Itoa(os.Getpid()) {
			os.Remove(own)
		}
		os.Remove(l.s.cfg.files(w.Key, filePort))
	}
	return l.socket.Close()
}
