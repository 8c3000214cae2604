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

// A Socket is a unix socket that this process has created. Another process may have replaced the file at its path
// since.
type Socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// ErrNoSocket rejects a path that holds a file of another kind.
var ErrNoSocket = errors.New("exists and is not a socket")

// ErrPathTooLong rejects a path that is too long. The error of the system would not give the reason.
var ErrPathTooLong = errors.New("path too long for a unix socket")

// CheckPath rejects a path that is too long for a socket.
func CheckPath(path string) error {
	const longest = len(syscall.RawSockaddrUnix{}.Path) - 1 // room for the final zero byte
	if len(path) > longest {
		return fmt.Errorf("%s: %w: %d bytes, %d are possible; choose a shorter home", path, ErrPathTooLong, len(path), longest)
	}
	return nil
}

// Claim creates the socket at a path, for this user only. It creates the socket under another name, sets its mode,
// and renames it. So other users can never open the socket at the path, and a stale socket is replaced without a gap.
// alive reports whether a server answers on the existing socket; if it does, Claim fails. With a nil alive, Claim
// replaces a live socket too. It never replaces a file of another kind. Concurrent claims of a path run one after the
// other.
func Claim(path string, alive func(path string) bool) (*Socket, error) {
	defer lockDir(filepath.Dir(path))()
	if i, err := os.Lstat(path); err == nil {
		if i.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("%s %w", path, ErrNoSocket)
		}
		if alive != nil && alive(path) {
			return nil, fmt.Errorf("%s is served by another process", path)
		}
	}
	staging := stagingPath(path)
	if err := os.Remove(staging); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	ln, err := bind(staging)
	if op := new(net.OpError); errors.As(err, &op) {
		op.Addr = &net.UnixAddr{Name: path, Net: "unix"} // the path the caller gave
	}
	if err != nil {
		return nil, err
	}
	s := &Socket{UnixListener: ln, path: path}
	if err := errors.Join(os.Chmod(staging, 0o600), os.Rename(staging, path)); err != nil {
		return nil, errors.Join(err, ln.Close(), os.Remove(staging))
	}
	if s.file, err = os.Lstat(path); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return s, nil
}

// lockTimeout bounds the wait for other claims in the same directory. Such a claim may be waiting for a server to
// answer.
const lockTimeout = 15 * time.Second

// lockDir locks a directory against claims by other processes and returns the function that unlocks it. It uses
// flock, so the lock ends with the process. If the directory cannot be locked in time, the caller continues without
// the lock.
func lockDir(dir string) (unlock func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockTimeout); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			return func() { f.Close() }
		}
	}
}

// stagingSuffix ends the name under which a socket is created.
const stagingSuffix = ".new"

// stagingPath returns the name under which a socket is created. It is no longer than path, which may be as long as
// the system allows.
func stagingPath(path string) string {
	dir, base := filepath.Split(path)
	return dir + base[:max(0, len(base)-len(stagingSuffix))] + stagingSuffix
}

// bind listens on a path. Linux gives the file the mode of the descriptor at the bind, so no other user can ever
// connect. Other systems ignore that mode, and the caller sets it right after.
func bind(path string) (*net.UnixListener, error) {
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) }) // other systems reject it
	}}
	ln, err := private.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	l := ln.(*net.UnixListener)
	l.SetUnlinkOnClose(false) // another server may have replaced the socket at the path by then
	return l, nil
}

// Answers reports whether a server accepts connections at a path.
func Answers(path string) bool {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// InPlace reports whether the file at the path is still this socket. No other file can have its inode while it is
// open.
func (s *Socket) InPlace() bool {
	i, err := os.Lstat(s.path)
	return err == nil && os.SameFile(i, s.file)
}

// Close stops listening, and removes the socket unless another one has taken its path.
func (s *Socket) Close() (err error) {
	defer lockDir(filepath.Dir(s.path))()
	if s.InPlace() {
		err = os.Remove(s.path)
	}
	return errors.Join(err, s.UnixListener.Close())
}
