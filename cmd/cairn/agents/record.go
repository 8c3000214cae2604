package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/cmd/cairn/agents/edit"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// dir is the directory of records, tokens and spools.
func dir() (string, error) {
	all, err := cli.OpenContexts()
	if err != nil {
		return "", err
	}
	base := all.Dir()
	if base == "" {
		if base, err = os.UserConfigDir(); err != nil {
			return "", err
		}
		base = filepath.Join(base, "cairn")
	}
	return filepath.Join(base, "connect"), nil
}

// A record says how a tool is connected, and what was written for it.
type record struct {
	Tool     string    `json:"tool"`
	Project  string    `json:"project,omitempty"` // directory; blank: the user's configuration
	Endpoint string    `json:"endpoint"`          // URL of the node's gateway
	Database string    `json:"db,omitempty"`
	TLS      bool      `json:"tls,omitempty"`
	CA       string    `json:"ca,omitempty"`
	Home     string    `json:"home,omitempty"` // of the node, if it is on this machine
	Own      bool      `json:"own,omitempty"`  // it has its own token, because another project's is for another node or database
	Entries  []written `json:"entries"`

	dir string
}

// A written is an entry in a file.
type written struct {
	File    string `json:"file"`
	Format  string `json:"format"`
	Created bool   `json:"created,omitempty"` // the file was not there
	edit.Entry
	edit.Trace

	any bool // another value at its place is good as well
}

// at identifies an entry's place. Entries at one place that differ in value have the same, except in lists.
func (w written) at() string {
	if w.List {
		return w.File + "\x00" + w.String() + "\x00" + w.Value
	}
	return w.File + "\x00" + w.String()
}

func (r *record) path() string {
	name := r.Tool
	if r.Project != "" {
		sum := sha256.Sum256([]byte(r.Project))
		name += "-" + hex.EncodeToString(sum[:6])
	}
	return filepath.Join(r.dir, name+".json")
}

// tokenFile is the file of the token. All projects that a tool has connected to one node and database share it.
func (r *record) tokenFile() string {
	if r.Own {
		return strings.TrimSuffix(r.path(), ".json") + "-own.token"
	}
	return filepath.Join(r.dir, r.Tool+".token")
}

func (r *record) spool() spool { return spool(filepath.Join(r.dir, r.Tool+".spool")) }

// sameNode reports whether a token of one record is good for the other.
func (r *record) sameNode(o *record) bool {
	return r.Database == o.Database && r.Home == o.Home && (r.Home != "" || r.Endpoint == o.Endpoint)
}

// read fills in the record that a file holds; false when there is no file.
func (r *record) read(path string) (there bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, r)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// records returns all records of a tool: the user's first.
func records(dir, tool string) (all []*record, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, tool+"-*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range append([]string{filepath.Join(dir, tool+".json")}, paths...) {
		r := &record{dir: dir}
		there, err := r.read(path)
		if err != nil {
			return nil, err
		}
		if there {
			all = append(all, r)
		}
	}
	return all, nil
}

// holding picks the record that applies to a directory: that of the innermost project around it, or the user's; nil for
// none. Agents name a directory with its links resolved, or in other letter case where the file system ignores case.
func holding(all []*record, cwd string) *record {
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	for at := cwd; ; at = filepath.Dir(at) {
		for _, r := range all {
			if r.Project != "" && sameDir(r.Project, at) {
				return r
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if i := slices.IndexFunc(all, func(r *record) bool { return r.Project == "" }); i >= 0 {
		return all[i]
	}
	return nil
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	i, ierr := os.Stat(a)
	j, jerr := os.Stat(b)
	return ierr == nil && jerr == nil && os.SameFile(i, j)
}

// save writes the record, or removes it when the tool is not connected any more.
func (r *record) save() error {
	if len(r.Entries) == 0 {
		if err := os.Remove(r.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := private.MakeDir(r.dir); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return syncwriter.Replace(r.path(), append(b, '\n'), 0o600)
}

// target is the node of the record, asked with the tool's token.
func (r *record) target() *cli.Target {
	return &cli.Target{Endpoints: []string{r.Endpoint}, TokenFile: r.tokenFile(), Database: r.Database, TLS: r.TLS, CA: r.CA,
		Timeout: answerFor}
}
