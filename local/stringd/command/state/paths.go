package state

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
)

// MaxFile bounds the size of a document.
const MaxFile = 10 << 20

// Locate resolves a typed path to a real file path, and rejects one that the agent may not reach.
func (s *Session) Locate(typed, base string) (real string, err error) {
	err = s.WithFiles(func() (err error) {
		real, err = s.locate(typed, base)
		return err
	})
	return real, err
}

func (s *Session) locate(typed, base string) (string, error) {
	p := typed
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		p = s.Agent.Home + p[1:]
	case strings.HasPrefix(p, "file://"):
		u, err := url.Parse(p)
		if err != nil || u.Path == "" {
			return "", lang.Errorf(lang.InvalidPath, "Invalid path: %s", typed)
		}
		p = u.Path
	}
	if p == "" || strings.ContainsRune(p, 0) {
		return "", lang.Errorf(lang.InvalidPath, "Invalid path: %s", typed)
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	p = filepath.Clean(p)
	real, err := realPath(p)
	if err != nil {
		return "", lang.Errorf(lang.InvalidPath, "Invalid path: %s", typed)
	}
	if !s.Settings.FullAccess && !s.reachable(real) {
		return "", lang.Errorf(lang.NotAllowed, "Path outside workspace: %s", typed)
	}
	return real, nil
}

// reachable reports whether a real path is in the agent's home or an allowed directory. Those count only within the
// current roots, which may have changed since the agent was registered.
func (s *Session) reachable(real string) bool {
	if !s.Settings.Roots.notClosed(real) {
		return false
	}
	for _, dir := range append([]string{s.Agent.Home}, s.Agent.Allowed...) {
		if r, ok := s.Settings.Roots.resolve(s.Agent.Home, dir); ok && within(r, real) {
			return true
		}
	}
	return false
}

// Roots holds the directories that may contain agents' homes and allowed directories. Links in its paths are
// resolved.
type Roots struct {
	dirs   []string // homes first
	homes  string   // directory of the default homes
	closed []string // agents may not reach these directories, except those below homes
}

// NewRoots resolves the links in the directories now. A link that replaces one of them later has no effect.
func NewRoots(homes string, dirs, closed []string) Roots {
	out := Roots{dirs: realPaths(append([]string{homes}, dirs...)), closed: realPaths(closed)}
	if h := realPaths([]string{homes}); len(h) > 0 {
		out.homes = h[0]
	}
	return out
}

func realPaths(dirs []string) (out []string) {
	for _, dir := range dirs {
		if r, err := realPath(filepath.Clean(dir)); err == nil && filepath.IsAbs(r) {
			out = append(out, r)
		}
	}
	return out
}

func (l Roots) String() string { return strings.Join(l.dirs, ", ") }

// Contain reports whether a directory of an agent with this home is in the roots, after resolving links.
func (l Roots) Contain(home, dir string) bool {
	_, ok := l.resolve(home, dir)
	return ok
}

// resolve returns the real path of a directory if it is in the roots. ~ is the home of the agent.
func (l Roots) resolve(home, dir string) (real string, ok bool) {
	if rest, ok := strings.CutPrefix(dir, "~"); ok {
		dir = home + rest
	}
	real, err := realPath(filepath.Clean(dir))
	return real, err == nil && l.notClosed(real) && slices.ContainsFunc(l.dirs, func(root string) bool { return within(root, real) })
}

// notClosed reports whether a real path is outside of all closed directories. A root may contain the node's own home,
// which is closed.
func (l Roots) notClosed(real string) bool {
	return l.homes != "" && within(l.homes, real) || !slices.ContainsFunc(l.closed, func(dir string) bool { return within(dir, real) })
}

// within reports whether a path is dir or in it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// realPath resolves links. For a path that does not exist, it resolves its deepest existing parent.
func realPath(p string) (string, error) {
	real, err := filepath.EvalSymlinks(p)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if fi, err := os.Lstat(p); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return "", errors.New("dangling link") // writing through it would leave the workspace
	}
	dir := filepath.Dir(p)
	if dir == p {
		return p, nil
	}
	parent, err := realPath(dir)
	return filepath.Join(parent, filepath.Base(p)), err
}

// ReadFile reads a regular file that Locate returned. It does not follow links, and does not wait for the writer of a
// pipe.
func (s *Session) ReadFile(path string) (text string, at Stamp, err error) {
	err = s.WithFiles(func() (err error) {
		text, at, err = s.readRegular(path)
		return err
	})
	return text, at, err
}

func (s *Session) readRegular(path string) (string, Stamp, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", Stamp{},
			lang.Errorf(lang.NotFound,
				"File not found: %s\nRecovery: Use /ls to list available files, or check the path spelling.", s.Display(path))
	}
	if err != nil {
		return "", Stamp{}, lang.Errorf(lang.LoadError, "Cannot read %s: %v", s.Display(path), Cause(err))
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", Stamp{}, err
	case !fi.Mode().IsRegular():
		return "", Stamp{}, lang.Errorf(lang.LoadError, "Not a regular file: %s", s.Display(path))
	case fi.Size() > MaxFile:
		return "", Stamp{}, lang.Errorf(lang.LoadError, "%s has %d bytes, more than %d", s.Display(path), fi.Size(), MaxFile)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil || len(b) > MaxFile {
		return "", Stamp{}, lang.Errorf(lang.LoadError, "Cannot read %s", s.Display(path))
	}
	return string(b), StampOf(fi), nil
}

// ReadDir lists a directory.
func (s *Session) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = s.WithFiles(func() (err error) {
		entries, err = os.ReadDir(path)
		return err
	})
	return entries, err
}

// Display returns a path for answers, relative to the home if it is in it.
func (s *Session) Display(path string) string {
	home, err := realPath(s.Agent.Home)
	if err != nil {
		home = s.Agent.Home
	}
	if path == home {
		return "~"
	}
	if rel, ok := strings.CutPrefix(path, home+"/"); ok {
		return rel
	}
	return path
}

func fileURI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// SplitBlock splits path#block.
func SplitBlock(target string) (path, block string) {
	if i := strings.LastIndexByte(target, '#'); i >= 0 {
		return target[:i], target[i+1:]
	}
	return target, ""
}

// WithFiles runs do, which uses files, if the door allows it.
func (s *Session) WithFiles(do func() error) error {
	// Without a deadline, because the door does not wait.
	return s.Settings.Memory.Act(context.Background(), api.UseFiles, errNoFiles, func(context.Context) error { return do() })
}

// Cause returns the system error without its path, because that may be the path of a temporary file.
func Cause(err error) error {
	if why := syscall.Errno(0); errors.As(err, &why) {
		return why
	}
	return err
}

// errNoFiles rejects an agent that may not use files.
var errNoFiles = lang.Errorf(lang.NotAllowed, "Files are off on this node.")
