package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/cairndb/cairn/"

// rooms says which of our rooms, or packages of them, each room may import. What is not listed may import none.
var rooms = map[string][]string{
	"wire":  {},
	"oplog": {},
	"index": {"oplog", "wire"},
	"raft":  {"oplog", "wire"},
	"node":  {"oplog", "wire", "index", "raft"},
	"local": {"oplog", "wire", "node/api"},
	"cmd":   {"oplog", "wire", "index", "raft", "node", "local"},
}

// inner says which packages of its own room a package may import, where that is bounded.
var inner = map[string][]string{
	"oplog":            {},
	"oplog/boltfile":   {},
	"oplog/extract":    {},
	"oplog/syncwriter": {},
	"oplog/seal":       {"oplog/syncwriter"},
	"oplog/store":      {"oplog/seal"},
	"oplog/snapshot":   {"oplog"},
	"oplog/state":      {"oplog", "oplog/seal", "oplog/snapshot", "oplog/store"},
	"node/api":         {},
	"node/disk":        {},
	"node/certs":       {},
	"node/past":        {},
	"node/access":      {"node/api"},
	"node/commit":      {"node/api", "node/access", "node/disk"},
	"local/door":       {},
	"local/environ":    {},
	"local/frame":      {},
	"local/kit":        {},
	"local/redact":     {},
	"node/engine":      {"node/api", "node/access", "node/certs", "node/commit", "node/disk", "node/mind", "node/past"},
	"node/home":        {"node/commit"},
	"node/mcp":         {"node/api"},
	"node/gateway":     {"node/api", "node/access"},
	"node/console":     {},
	"node/wireport":    {"node/api", "node/access"},
	"node/peerport":    {"node/api"},
	"raft/logstore":    {},
	"raft/transport":   {},
	"raft/recovery":    {"raft/logstore"},

	"cmd/cairn/cli":       {},
	"cmd/cairn/config":    {"cmd/cairn/cli"},
	"cmd/cairn/doctor":    {"cmd/cairn/cli", "cmd/cairn/config"},
	"cmd/cairn/debug":     {"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/doctor"},
	"cmd/cairn/bench":     {"cmd/cairn/cli", "cmd/cairn/config"},
	"cmd/cairn/sample":    {"cmd/cairn/cli"},
	"cmd/cairn/cairntest": {"cmd/cairn/cli", "cmd/cairn/config"},
}

// sole says which package, with what is below it, alone may import a library.
var sole = map[string]string{
	"github.com/cockroachdb/pebble/": "oplog/store",
}

// dialects are the packages of local that never import each other, with those below them.
var dialects = []string{"local/covenant", "local/process", "local/sift", "local/stringd"}

// dialect is the one that a package belongs to; blank for none.
func dialect(pkg string) string {
	for _, d := range dialects {
		if pkg == d || strings.HasPrefix(pkg, d+"/") {
			return d
		}
	}
	return ""
}

// outer says which other rooms a package may import, where that is less than its room may.
var outer = map[string][]string{
	"node/api":     {"oplog", "wire"},
	"node/mcp":     {"oplog", "wire"},
	"node/gateway": {"oplog", "wire"},
	"node/console": {},
}

// owners says which rooms may import a library.
var owners = map[string][]string{
	"github.com/blevesearch/bleve/":      {"index"},
	"github.com/hashicorp/raft":          {"raft"},
	"github.com/hashicorp/go-hclog":      {"raft"},
	"github.com/klauspost/compress/zstd": {"wire", "oplog", "local"},
	"go.etcd.io/bbolt":                   {"index", "oplog", "raft"},
	"github.com/spf13/cobra":             {"cmd"},
	"github.com/pelletier/go-toml/":      {"cmd"},
}

// TestLayers holds the arrows between the rooms.
func TestLayers(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		from := room(p.ImportPath)
		pkg := strings.TrimPrefix(p.ImportPath, module)
		for _, i := range p.Imports {
			if may, bounded := inner[pkg]; bounded && room(i) == from && !slices.Contains(may, strings.TrimPrefix(i, module)) {
				t.Errorf("%s imports %s: of its own room it may import %v", p.ImportPath, i, may)
			}
			if to := room(i); to != "" && to != from && !slices.Contains(rooms[from], to) && !slices.Contains(rooms[from], strings.TrimPrefix(i, module)) {
				t.Errorf("%s imports %s: room %s may not import room %s", p.ImportPath, i, from, to)
			}
			for lib, may := range sole {
				if strings.HasPrefix(i, lib) && !strings.HasPrefix(pkg+"/", may+"/") {
					t.Errorf("%s imports %s, which belongs to %s alone", p.ImportPath, i, may)
				}
			}
			if of, its := dialect(strings.TrimPrefix(i, module)), dialect(pkg); from == "local" && of != "" && of != its {
				t.Errorf("%s imports %s: dialects know nothing of each other", p.ImportPath, i)
			}
			if may, bounded := outer[pkg]; bounded && room(i) != "" && room(i) != from && !slices.Contains(may, room(i)) {
				t.Errorf("%s imports %s: of other rooms it may import %v", p.ImportPath, i, may)
			}
			for lib, may := range owners {
				if strings.HasPrefix(i, lib) && !slices.Contains(may, from) {
					t.Errorf("%s imports %s, which belongs to %v", p.ImportPath, i, may)
				}
			}
		}
	}
	if seen < len(rooms)-1 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

func room(path string) string {
	rest, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
