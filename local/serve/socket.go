package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A Socket is a unix socket that this process has made. At its path there may be another one by now.
type Socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// ErrNoSocket rejects a path at which there is another kind of file.
var ErrNoSocket = errors.New("exists and is not a socket")

// ErrLong rejects a path that the system would reject without saying why.
var ErrLong = errors.New("path too long for a unix socket")

// Fits rejects a path that is too long for a socket.
func Fits(path string) error {
	const longest = len(syscall.RawSockaddrUnix{}.Path) - 1 // a zero ends it
	if len(path) > longest {
		return fmt.Errorf("%s: %w: %d bytes, %d are possible; choose a shorter home", path, ErrLong, len(path), longest)
	}
	return nil
}

// Claim makes the socket at a path, for this user alone. It is made under another name and moved to its place when
// its mode is right: a socket that other users may open is never at the path, and a stale one is replaced without a
// gap. alive reports whether a server answers on the socket that is there: then Claim rejects. With a nil alive,
// Claim replaces a live one too. It never replaces another kind of file. Of several that claim a path at once, each
// gets it in turn.
func Claim(path string, alive func(path string) bool) (*Socket, error) {
	defer lock(filepath.Dir(path))()
	if i, err := os.Lstat(path); err == nil {
		if i.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s %w", path, ErrNoSocket)
		}
		if alive != nil && alive(path) {
			return nil, fmt.Errorf("%s is served by another process", path)
		}
	}
	made := beside(path)
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	ln, err := bind(made)
	if op := new(net.OpError); errors.As(err, &op) {
		op.Addr = &net.UnixAddr{Name: path, Net: "unix"} // the name that the caller knows
	}
	if err != nil {
		return nil, err
	}
	s := &Socket{UnixListener: ln, path: path}
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(err, ln.Close(), os.Remove(made))
	}
	if s.file, err = os.Lstat(path); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return s, nil
}

// lockPatience bounds the time that a claim waits for others in the same directory, which may be asking a server that
// is there.
const lockPatience = 15 * time.Second

// lock takes the sockets' turn in a directory, among all processes, and returns the function that ends it. The lock is
// the system's and ends with the process. Where there is none, or it takes too long, the caller goes on without it.
func lock(dir string) (unlock func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			return func() { f.Close() }
		}
	}
}

// suffix ends the name under which a socket is made.
const suffix = ".new"

// beside is the name under which a socket is made: no longer than its own, which may be as long as the system allows.
func beside(path string) string {
	dir, base := filepath.Split(path)
	return dir + base[:max(0, len(base)-len(suffix))] + suffix
}

// bind listens. Linux gives the file the mode that the descriptor has when it is bound, so there is no moment in which
// another user could connect; elsewhere the mode is set right after.
func bind(path string) (*net.UnixListener, error) {
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) }) // other systems reject it
	}}
	ln, err := private.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	l := ln.(*net.UnixListener)
	l.SetUnlinkOnClose(false) // a successor's socket may be at the path by then
	return l, nil
}

// Answers reports whether a server accepts at a path.
func Answers(path string) bool {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// Ours reports whether the socket at the path is still this one. No other file has its inode while it is open.
func (s *Socket) Ours() bool {
	i, err := os.Lstat(s.path)
	return err == nil && os.SameFile(i, s.file)
}

// Close stops listening, and removes the socket unless another one has its path.
func (s *Socket) Close() (err error) {
	defer lock(filepath.Dir(s.path))()
	if s.Ours() {
		err = os.Remove(s.path)
	}
	return errors.Join(err, s.UnixListener.Close())
}
