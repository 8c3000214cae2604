// Package private reads directories and secret files that only this process's user may access. It rejects others with
// an error that contains the command to fix the permissions. It imports no other package of ours.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrOpen reports that others may read or change a file that must be private.
var ErrOpen = errors.New("not private")

// maxSecret is the size of the largest file that is read as a secret.
const maxSecret = 1 << 20

// MakeDir makes a directory that only this user may enter, with its parents, and rejects one that another user owns
// or may enter.
func MakeDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return CheckDir(path)
}

// CheckDir rejects a directory that another user owns or may enter, and a link that another user made.
func CheckDir(path string) error {
	if link, err := os.Lstat(path); err != nil {
		return err
	} else if at := owner(link); at != os.Geteuid() && at != 0 {
		return fmt.Errorf("%w: %s belongs to uid %d, and this process is uid %d: name a directory of your own, or `chown -R %d` this one if you trust what is in it",
			ErrOpen, path, at, os.Geteuid(), os.Geteuid())
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	case owner(info) != os.Geteuid():
		return fmt.Errorf("%w: %s belongs to uid %d, and this process is uid %d: name a directory of your own, or `chown -R %d` this one if you trust what is in it",
			ErrOpen, path, owner(info), os.Geteuid(), os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: %s has mode %04o, and others may enter it: chmod 700 %s", ErrOpen, path, info.Mode().Perm(), Quote(path))
	}
	return nil
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// Read reads a file of this user's that nobody else may read. It follows no link, and waits for no pipe. A missing
// file is fs.ErrNotExist.
func Read(path string) ([]byte, error) { return read(path, syscall.O_NOFOLLOW, 0o077) }

// ReadNamed reads a secret at a path that the operator has named. Links are followed, as secrets that Kubernetes
// mounts are links, and the file's group may read it.
func ReadNamed(path string) ([]byte, error) { return read(path, 0, 0o037) }

func read(path string, flag int, forbidden fs.FileMode) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flag, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%w: %s is a link: put the file itself there", ErrOpen, path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrOpen, path)
	case info.Mode().Perm()&forbidden != 0:
		return nil, fmt.Errorf("%w: %s has mode %04o, and others may read or change it: chmod 600 %s", ErrOpen, path,
			info.Mode().Perm(), Quote(path))
	case flag != 0 && owner(info) != os.Geteuid() && os.Geteuid() != 0:
		return nil, fmt.Errorf("%w: %s belongs to uid %d: remove it, or make it your own", ErrOpen, path, owner(info))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(b) > maxSecret {
		err = fmt.Errorf("%s: more than %d bytes", filepath.Base(path), maxSecret)
	}
	return b, err
}

// Quote quotes a word for the shell, for commands that are printed.
func Quote(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !(r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
