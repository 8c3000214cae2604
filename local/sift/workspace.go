package sift

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cairndb/cairn/local/environ"
	"github.com/cairndb/cairn/local/git"
	"github.com/cairndb/cairn/oplog"
)

// Workspace is a project directory. Clients find it by the key of its path.
type Workspace struct {
	Key  string // 12 hex digits
	Dir  string // the directory that was requested, absolute
	Top  string // the top of its repository, links resolved; without a repository, Dir
	Name string // namespace that several workspaces share; empty: its own
}

// DefaultNS is the namespace of a home without SIFTCODER_NS.
const DefaultNS = "default"

var validNS = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckNS rejects a namespace that is not a plain file name, because the namespace names a directory.
func CheckNS(ns string) error {
	if !validNS.MatchString(ns) || ns == "." || ns == ".." {
		return fmt.Errorf("namespace %q: letters, digits, '.', '_' and '-', 1 to 64 of them", ns)
	}
	return nil
}

// FindWorkspace returns the workspace of a directory, computed as clients do. subspace is SIFTCODER_SUBSPACE, or
// empty.
func FindWorkspace(ctx context.Context, dir, subspace string) (Workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Workspace{}, err
	}
	top := dir
	if out, err := git.Command(ctx, "git", dir, environ.Clean(), nil, "rev-parse", "--show-toplevel").Output(); err == nil {
		top = cmp.Or(strings.TrimSpace(string(out)), dir)
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	sub := cmp.Or(strings.TrimSpace(subspace), firstLine(filepath.Join(top, ".siftcoder", "subspace")))
	return Workspace{Key: Key(top, sub), Dir: dir, Top: top}, nil
}

// Key returns the key of a path and an optional subspace.
func Key(path, subspace string) string {
	if subspace != "" {
		path += ":" + subspace
	}
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:])[:12]
}

// firstLine returns the first line of a file in a repository, or "" if the file is not regular.
func firstLine(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	f, err := openRegular(real)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Scan()
	return strings.TrimSpace(s.Text())
}

// privatePrefix begins the namespaces of all workspaces.
const privatePrefix = oplog.EventPrefix

// Namespace returns the namespace of the workspace's memories. ns is the namespace of the home.
func (w Workspace) Namespace(ns string) string {
	if w.Name != "" {
		return privatePrefix + w.Name
	}
	return privatePrefix + ns + "/" + w.Key
}

// base and files return paths below the home and its namespace.
func (c *Config) base() string { return filepath.Join(c.Home, c.NS) }
func (c *Config) files(key, name string) string {
	return filepath.Join(c.base(), "workspaces", key, name)
}

// Socket returns the path of a workspace's socket.
func Socket(home, ns, key string) string { return filepath.Join(home, ns, "run", key+".sock") }

// ControlSocket returns the path of the socket through which clients open workspaces.
func ControlSocket(home string) string { return filepath.Join(home, "control.sock") }
