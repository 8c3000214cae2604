package sift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A listener is one socket. The request carries no workspace: the socket is the only selector.
type listener struct {
	s         *Server
	path      string
	workspace *Workspace // nil on the control socket
	ctx       context.Context
	cancel    context.CancelFunc

	mu    sync.Mutex
	ln    *net.UnixListener
	inode uint64
	conns map[net.Conn]struct{} // those that have not sent a whole request
}

// listen claims a path and serves it until the listener is closed.
func (s *Server) listen(path string, w *Workspace) (*listener, error) {
	l := &listener{s: s, path: path, workspace: w, conns: map[net.Conn]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(s.ctx)
	if err := l.claim(); err != nil {
		l.cancel()
		return nil, err
	}
	s.tasks.Go(l.accept)
	s.tasks.Go(l.watch)
	return l, nil
}

// claim makes the socket under another name and moves it to its place when its mode is right: nobody connects to one
// that others may open, and a stale one is replaced without a gap.
func (l *listener) claim() error {
	if err := checkPath(l.path); err != nil {
		return err
	}
	if i, err := os.Lstat(l.path); err == nil {
		if i.Mode().Type() != os.ModeSocket {
			return fmt.Errorf("%s is there and is no socket", l.path)
		}
		if l.workspace == nil && answers(l.path) {
			return fmt.Errorf("%s is served by another process", l.path)
		}
	}
	made := l.path + ".new"
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return err
	}
	ln.SetUnlinkOnClose(false) // at that path there may be a successor's by then
	err = errors.Join(os.Chmod(made, 0o600), os.Rename(made, l.path))
	if err != nil {
		return errors.Join(err, ln.Close(), os.Remove(made))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil { // closed meanwhile: nobody would accept
		return errors.Join(os.Remove(l.path), ln.Close())
	}
	l.ln, l.inode = ln, inode(l.path)
	return nil
}

func inode(path string) uint64 {
	i, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	if st, ok := i.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// guard refuses to take a workspace from a daemon that lives. Its text is what clients know.
func (s *Server) guard(key, socket string) error {
	raw, err := os.ReadFile(s.cfg.files(key, filePid))
	if err != nil {
		return nil
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || pid <= 0 || pid == os.Getpid() {
		return nil
	}
	if e := syscall.Kill(pid, 0); (e == nil || errors.Is(e, syscall.EPERM)) && answers(socket) {
		return fmt.Errorf("daemon already running for this workspace (pid=%d); refusing to start a second instance", pid)
	}
	return nil
}

// pingPatience is for a daemon that is busy: a stale socket refuses the connection at once.
const pingPatience = 10 * time.Second

// answers says whether a daemon on the socket answers ping.
func answers(socket string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), pingPatience)
	defer cancel()
	_, err := Call(ctx, socket, json.RawMessage(`{"kind":"ping"}`))
	return err == nil
}

func (l *listener) accept() {
	for {
		l.mu.Lock()
		ln := l.ln
		l.mu.Unlock()
		c, err := ln.AcceptUnix()
		if err != nil {
			if l.ctx.Err() != nil {
				return
			}
			l.mu.Lock()
			moved := ln != l.ln // watch has made another
			l.mu.Unlock()
			if !moved {
				l.s.log.Warn("accept failed", "err", err)
				select { // out of descriptors, mostly: they come back
				case <-time.After(50 * time.Millisecond):
				case <-l.ctx.Done():
				}
			}
			continue
		}
		l.s.tasks.Go(func() { l.serve(c) })
	}
}

// watchEvery is how often a listener looks whether its socket is still the one at its path.
const watchEvery = 500 * time.Millisecond

// watch takes the path back when another process has unlinked the socket: a client that starts its own daemon does.
func (l *listener) watch() {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-t.C:
		}
		l.mu.Lock()
		ours, old := inode(l.path) == l.inode, l.ln
		l.mu.Unlock()
		if ours || l.ctx.Err() != nil {
			continue
		}
		l.s.log.Error("socket was replaced by another process; listening anew", "socket", l.path)
		if err := l.claim(); err != nil {
			l.s.log.Error("socket not claimed", "socket", l.path, "err", err)
			continue
		}
		old.Close()
	}
}

// close stops listening, drops connections that have sent no request yet, and removes what is ours of the files.
func (l *listener) close() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if inode(l.path) == l.inode {
		os.Remove(l.path) // what stays is stale, and the next one says so
	}
	if w := l.workspace; w != nil {
		own := l.s.cfg.files(w.Key, filePid)
		if raw, err := os.ReadFile(own); err == nil && strings.TrimSpace(string(raw)) == strconv.Itoa(os.Getpid()) {
			os.Remove(own)
		}
		os.Remove(l.s.cfg.files(w.Key, filePort))
	}
	for c := range l.conns {
		c.SetReadDeadline(time.Now()) // its reader ends it
	}
	return l.ln.Close()
}
