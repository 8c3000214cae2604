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

// recordsDir returns the directory of records, tokens and spools.
func recordsDir() (string, error) {
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

// A record describes how a tool is connected, and the entries written for it.
type record struct {
	Tool     string         `json:"tool"`
	Project  string         `json:"project,omitempty"` // directory; blank: the user's configuration
	Endpoint string         `json:"endpoint"`          // URL of the node's gateway
	Database string         `json:"db,omitempty"`
	TLS      bool           `json:"tls,omitempty"`
	CA       string         `json:"ca,omitempty"`
	Home     string         `json:"home,omitempty"` // of the node, if it is on this machine
	Own      bool           `json:"own,omitempty"`  // it has its own token, because the shared one is for another node or database
	Entries  []writtenEntry `json:"entries"`

	dir string
}

// A writtenEntry is an entry in a file.
type writtenEntry struct {
	File    string `json:"file"`
	Format  string `json:"format"`
	Created bool   `json:"created,omitempty"` // the file was created for it
	edit.Entry
	edit.Trace

	anyValue bool // accept any existing value at its place
}

// placeKey identifies an entry's place. It includes the value only for elements of lists.
func (w writtenEntry) placeKey() string {
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

// tokenFile returns the path of the token. All projects of a tool that use the same node and database share it.
func (r *record) tokenFile() string {
	if r.Own {
		return strings.TrimSuffix(r.path(), ".json") + "-own.token"
	}
	return filepath.Join(r.dir, r.Tool+".token")
}

func (r *record) spool() spool { return spool(filepath.Join(r.dir, r.Tool+".spool")) }

// sameNode reports whether both records have the same node and database, so that one token is valid for both.
func (r *record) sameNode(o *record) bool {
	return r.Database == o.Database && r.Home == o.Home && (r.Home != "" || r.Endpoint == o.Endpoint)
}

// read fills in the record from a file; false if the file does not exist.
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

// records returns all records of a tool, the user's first.
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

// recordFor returns the record that applies to a directory: that of the innermost project around it, or else the
// user's; nil for none. Agents may name the directory with links resolved, or in another letter case if the file
// system ignores case.
func recordFor(all []*record, cwd string) *record {
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

// save writes the record, or removes its file if it has no entries.
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

// target returns the target for the record's node with the tool's token.
func (r *record) target() *cli.Target {
	return &cli.Target{Endpoints: []string{r.Endpoint}, TokenFile: r.tokenFile(), Database: r.Database, TLS: r.TLS, CA: r.CA,
		Timeout: answerTimeout}
}
