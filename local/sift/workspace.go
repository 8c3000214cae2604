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

// A Workspace is one project directory as its clients find it: by the key of its path.
type Workspace struct {
	Key  string // 12 hex digits
	Dir  string // the directory that was requested, absolute
	Top  string // of its repository, links resolved; Dir without one
	Name string // namespace of its memories when several share one; empty for its own
}

// DefaultNS is the namespace of a home without SIFTCODER_NS.
const DefaultNS = "default"

var goodNS = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckNS rejects a namespace that is no plain file name: it is a directory.
func CheckNS(ns string) error {
	if !goodNS.MatchString(ns) || ns == "." || ns == ".." {
		return fmt.Errorf("namespace %q: letters, digits, '.', '_' and '-', 1 to 64 of them", ns)
	}
	return nil
}

// Find works out the workspace of a directory as clients do. subspace is SIFTCODER_SUBSPACE, or empty.
func Find(ctx context.Context, dir, subspace string) (Workspace, error) {
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

// Key condenses a path, and a subspace of it when there is one.
func Key(path, subspace string) string {
	if subspace != "" {
		path += ":" + subspace
	}
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:])[:12]
}

// firstLine reads the first line of a file that a repository brings: a pipe, or a link to a terminal, has none.
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

// privatePrefix begins the namespace of every workspace's memories.
const privatePrefix = oplog.EventPrefix

// Namespace returns the namespace of the workspace's memories, in a home's namespace ns.
func (w Workspace) Namespace(ns string) string {
	if w.Name != "" {
		return privatePrefix + w.Name
	}
	return privatePrefix + ns + "/" + w.Key
}

// The layout below a home and its namespace.
func (c *Config) base() string { return filepath.Join(c.Home, c.NS) }
func (c *Config) files(key, name string) string {
	return filepath.Join(c.base(), "workspaces", key, name)
}

// Socket is the socket of a workspace, in a home's namespace ns.
func Socket(home, ns, key string) string { return filepath.Join(home, ns, "run", key+".sock") }

// Control is the socket on which clients ask a node to serve a workspace.
func Control(home string) string { return filepath.Join(home, "control.sock") }
