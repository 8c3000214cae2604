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

// rooms lists, for each top-level folder, the folders or packages that it may import. Folders without a row may import
// none.
var rooms = map[string][]string{
	"wire":  {},
	"oplog": {},
	"index": {"oplog", "wire"},
	"raft":  {"oplog", "wire"},
	"node":  {"oplog", "wire", "index", "raft"},
	"local": {"oplog", "wire", "node/api"},
	"cmd":   {"oplog", "wire", "index", "raft", "node", "local"},
}

// A layer is a package with the packages of its own top-level folder that it imports. These must precede it in the
// table, so that the imports have no cycles.
type layer struct {
	pkg     string
	imports []string
}

// layers lists all packages with their imports within the same top-level folder, the lowest first.
var layers = []layer{
	{"wire/field", nil},
	{"wire/large", nil},
	{"wire/redact", []string{"wire/large"}},
	{"wire/ownhost", nil},
	{"wire/sse", nil},
	{"wire", []string{"wire/field", "wire/large"}},
	{"wire/accept", nil},
	{"wire/client", []string{"wire", "wire/field"}},

	{"oplog/fold", nil},
	{"oplog/spread", nil},
	{"oplog/filter", []string{"oplog/fold"}},
	{"oplog", []string{"oplog/filter"}},
	{"oplog/damage", nil},
	{"oplog/extract", nil},
	{"oplog/pause", nil},
	{"oplog/private", nil},
	{"oplog/suite", nil},
	{"oplog/syncwriter", nil},
	{"oplog/seal", []string{"oplog/private", "oplog/syncwriter"}},
	{"oplog/store", []string{"oplog/damage", "oplog/pause", "oplog/seal"}},
	{"oplog/store/storetest", nil},
	{"oplog/snapshot", []string{"oplog"}},
	{"oplog/snapshot/snapshottest", []string{"oplog", "oplog/snapshot"}},
	{"oplog/state", []string{"oplog", "oplog/fold", "oplog/pause", "oplog/seal", "oplog/snapshot", "oplog/spread",
		"oplog/store", "oplog/syncwriter"}},
	{"oplog/state/statetest", []string{"oplog", "oplog/state"}},
	{"oplog/snapshot/archive", []string{"oplog", "oplog/seal", "oplog/state", "oplog/syncwriter"}},

	{"index/breaker", nil},
	{"index/exact", nil},
	{"index/modelserver", nil},
	{"index/stock", nil},
	{"index/vector", nil},
	{"index/text/boltfile", nil},
	{"index/text", []string{"index/exact", "index/text/boltfile"}},
	{"index/rank", []string{"index/exact", "index/text"}}, // the time that a question asks about
	{"index", []string{"index/exact", "index/rank", "index/text", "index/vector"}},
	{"index/embed/modeldir", nil},
	{"index/embed/models", nil},
	{"index/embed/safetensors", nil},
	{"index/embed/tokenizer", []string{"index/embed/modeldir"}},
	{"index/embed/bert/berttest", nil},
	{"index/embed/bert", []string{"index/embed/modeldir", "index/embed/safetensors", "index/embed/tokenizer"}},
	{"index/embed", []string{"index/breaker", "index/embed/bert", "index/embed/modeldir", "index/embed/safetensors",
		"index/embed/tokenizer", "index/modelserver", "index/text"}},
	{"index/rerank", []string{"index/breaker", "index/modelserver"}},

	{"raft/logstore", nil},
	{"raft/rafttest", nil},
	{"raft/transport", nil},
	{"raft/peertest", []string{"raft/transport"}},
	{"raft/recovery", []string{"raft/logstore"}},
	{"raft", []string{"raft/logstore", "raft/recovery", "raft/transport"}},

	{"node/api", nil},
	{"node/certs", nil},
	{"node/console", nil},
	{"node/disk", nil},
	{"node/memory", nil},
	{"node/mind", nil},
	{"node/mind/mindtest", []string{"node/mind"}},
	{"node/nodetest", nil},
	{"node/past", nil},
	{"node/prompt", []string{"node/api"}},
	{"node/reads", []string{"node/api"}},
	{"node/simulation", nil},
	{"node/access", []string{"node/api"}},
	{"node/commit", []string{"node/access", "node/api", "node/disk"}},
	{"node/engine/embedding", []string{"node/api"}},
	{"node/engine/operate", []string{"node/access", "node/api", "node/certs", "node/commit", "node/disk", "node/past"}},
	{"node/engine/thinking", []string{"node/api", "node/mind"}},
	{"node/engine", []string{"node/access", "node/api", "node/commit", "node/disk", "node/engine/embedding",
		"node/engine/operate", "node/engine/thinking", "node/memory", "node/mind", "node/prompt", "node/reads"}},
	{"node/gateway", []string{"node/access", "node/api"}},
	{"node/home", []string{"node/commit"}},
	{"node/mcp", []string{"node/api", "node/prompt"}},
	{"node/mem0", []string{"node/api"}},
	{"node/memorystores", []string{"node/api"}},
	{"node/oauth", []string{"node/access", "node/api"}},
	{"node/peerport", []string{"node/api"}},
	{"node/wireport", []string{"node/access", "node/api"}},
	{"node", []string{"node/access", "node/api", "node/certs", "node/commit", "node/console", "node/disk", "node/engine",
		"node/engine/operate", "node/gateway", "node/home", "node/mcp", "node/mem0", "node/memorystores", "node/oauth",
		"node/peerport", "node/wireport"}},

	{"local/child", nil},
	{"local/door", nil},
	{"local/environ", nil},
	{"local/git", nil},
	{"local/kit", nil},
	{"local/serve", []string{"local/door"}},
	{"local/covenant/journal", []string{"local/kit"}},
	{"local/covenant/audit", []string{"local/covenant/journal", "local/kit"}},
	{"local/covenant/b58", nil},
	{"local/covenant/canon", nil},
	{"local/covenant/ignore", nil},
	{"local/covenant/mailbox", []string{"local/covenant/journal"}},
	{"local/covenant/protocol", []string{"local/kit", "local/serve"}},
	{"local/covenant/home",
		[]string{"local/covenant/audit", "local/covenant/b58", "local/covenant/canon", "local/covenant/ignore",
			"local/covenant/journal", "local/covenant/mailbox", "local/covenant/protocol", "local/kit", "local/serve"}},
	{"local/covenant/verbs",
		[]string{"local/covenant/audit", "local/covenant/b58", "local/covenant/canon", "local/covenant/home",
			"local/covenant/ignore", "local/covenant/mailbox", "local/covenant/protocol", "local/kit", "local/serve"}},
	{"local/covenant", []string{"local/covenant/home", "local/covenant/protocol", "local/covenant/verbs", "local/door",
		"local/kit", "local/serve"}},
	{"local/process", []string{"local/child", "local/door", "local/environ", "local/git", "local/kit", "local/serve"}},
	{"local/process/standalone", []string{"local/process"}},
	{"local/transcript", []string{"local/kit"}},
	{"local/sift", []string{"local/environ", "local/git", "local/kit", "local/serve", "local/transcript"}},
	{"local/stringd/inbox", nil},
	{"local/stringd/sfmd", nil},
	{"local/stringd/shell", []string{"local/child"}},
	{"local/stringd/command/lang", nil},
	{"local/stringd/command/state",
		[]string{"local/stringd/command/lang", "local/stringd/inbox", "local/stringd/sfmd", "local/stringd/shell"}},
	{"local/stringd/command",
		[]string{"local/kit", "local/stringd/command/lang", "local/stringd/command/state", "local/stringd/inbox",
			"local/stringd/sfmd", "local/stringd/shell"}},
	{"local/stringd", []string{"local/door", "local/environ", "local/kit", "local/serve", "local/stringd/command",
		"local/stringd/command/lang", "local/stringd/command/state", "local/stringd/inbox"}},

	{"cmd/cairn/cli", nil},
	{"cmd/cairn/agents/edit", nil},
	{"cmd/cairn/agents", []string{"cmd/cairn/cli", "cmd/cairn/agents/edit"}},
	{"cmd/cairn/admin", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/config", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/dialect", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/memory", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/model", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/sample", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/shell", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/status", []string{"cmd/cairn/cli"}},
	{"cmd/cairn/bench", []string{"cmd/cairn/cli", "cmd/cairn/config"}},
	{"cmd/cairn/cairntest", []string{"cmd/cairn/cli", "cmd/cairn/config"}},
	{"cmd/cairn/doctor", []string{"cmd/cairn/cli", "cmd/cairn/config"}},
	{"cmd/cairn/debug", []string{"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/doctor"}},
	{"cmd/cairn/surface", []string{"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/debug"}},
	{"cmd/cairn/serve", []string{"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/model", "cmd/cairn/sample", "cmd/cairn/surface"}},
	{"cmd/cairn/stopped", []string{"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/surface"}},
	{"cmd/cairn/cluster", []string{"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/status", "cmd/cairn/stopped"}},
	{"cmd/cairn/transfer", []string{"cmd/cairn/cli", "cmd/cairn/config", "cmd/cairn/stopped"}},
	{"cmd/cairn", []string{"cmd/cairn/admin", "cmd/cairn/agents", "cmd/cairn/bench", "cmd/cairn/cli", "cmd/cairn/cluster",
		"cmd/cairn/debug", "cmd/cairn/dialect", "cmd/cairn/doctor", "cmd/cairn/memory", "cmd/cairn/model", "cmd/cairn/serve",
		"cmd/cairn/shell", "cmd/cairn/status", "cmd/cairn/stopped", "cmd/cairn/transfer"}},
	{"cmd/lab/history", nil},
	{"cmd/lab/trial", []string{"cmd/cairn/bench", "cmd/cairn/cli", "cmd/cairn/config"}},
	{"cmd/lab", []string{"cmd/cairn/bench", "cmd/cairn/cli", "cmd/cairn/config", "cmd/lab/history", "cmd/lab/trial"}},
}

// narrowerImports lists the other top-level folders that a package may import, if that is fewer than its folder may.
var narrowerImports = map[string][]string{
	"node/api":          {"oplog", "wire"},
	"node/mcp":          {"oplog", "wire"},
	"node/mem0":         {"oplog", "wire"},
	"node/memorystores": {"oplog", "wire"},
	"node/gateway":      {"oplog", "wire"},
	"node/oauth":        {"oplog", "wire"},
	"node/console":      {},
}

// libraries lists, for each library with restricted use, the packages that may import it; packages below them may
// not. Bleve is for text search and comparisons, hashicorp/raft for consensus, pebble for the state, and zstd for
// frames, entries, snapshots and two dialects. Our own state is restricted as well: surfaces and dialects read it
// through the engine.
var libraries = map[string][]string{
	"github.com/blevesearch/":        {"index/stock", "index/text"},
	"github.com/cockroachdb/pebble/": {"oplog/store", "oplog/store/storetest"},
	"github.com/creack/pty":          {"local/stringd/shell"},
	"github.com/hashicorp/go-hclog":  {"raft"},
	module + "oplog/state": {"cmd/cairn/serve", "cmd/cairn/stopped", "index", "node", "node/access", "node/commit",
		"node/engine", "node/engine/embedding", "node/engine/operate", "node/engine/thinking", "node/home", "node/peerport", "node/reads",
		"oplog/snapshot/archive", "oplog/state/statetest", "raft"},
	"github.com/hashicorp/raft":            {"raft", "raft/logstore", "raft/recovery", "raft/transport"},
	"github.com/klauspost/compress/zstd":   {"local/process/standalone", "local/sift", "oplog", "oplog/snapshot", "wire"},
	"github.com/modelcontextprotocol/":     {"cmd/cairn/dialect", "node/mcp"},
	"github.com/pelletier/go-toml/":        {"cmd/cairn/agents/edit", "cmd/cairn/config"},
	"github.com/prometheus/client_golang/": {"node/engine"},
	"github.com/vmihailenco/msgpack/":      {"oplog", "wire"},
	"go.etcd.io/bbolt":                     {"index/text", "raft/logstore"},
}

// cobraRoom is the top-level folder that may import cobra.
const cobraRoom = "cmd"

// TestLayers checks the imports between top-level folders, between the packages of each, and of restricted libraries.
// Packages without a row are errors, and so are rows that no import uses.
func TestLayers(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{}
	for i, l := range layers {
		place[l.pkg] = i
		for _, on := range l.imports {
			if at, has := place[on]; !has || at >= i {
				t.Errorf("%s may import %s, which has no row above it", l.pkg, on)
			}
		}
	}
	seen := map[string][]string{}
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
		pkg := strings.TrimPrefix(p.ImportPath, module)
		seen[pkg] = p.Imports
		i, has := place[pkg]
		if !has {
			t.Errorf("%s has no row: say which packages of its room it may import", pkg)
			continue
		}
		for _, path := range p.Imports {
			checkImport(t, layers[i], path)
		}
	}
	for _, l := range layers {
		imports, there := seen[l.pkg]
		if !there {
			t.Errorf("%s has a row and is no package", l.pkg)
			continue
		}
		for _, on := range l.imports {
			if !slices.Contains(imports, module+on) {
				t.Errorf("%s does not import %s: take the arrow off its row", l.pkg, on)
			}
		}
	}
	for lib, users := range libraries {
		for _, pkg := range users {
			if !slices.ContainsFunc(seen[pkg], func(path string) bool { return strings.HasPrefix(path, lib) }) {
				t.Errorf("%s does not import %s: take it off the list", pkg, lib)
			}
		}
	}
}

func checkImport(t *testing.T, from layer, path string) {
	t.Helper()
	mine, on, ours := room(module+from.pkg), strings.TrimPrefix(path, module), room(path)
	switch {
	case ours == mine && !slices.Contains(from.imports, on):
		t.Errorf("%s imports %s: of its own room it may import %v", from.pkg, on, from.imports)
	case ours != "" && ours != mine && !slices.Contains(rooms[mine], ours) && !slices.Contains(rooms[mine], on):
		t.Errorf("%s imports %s: room %s may not import room %s", from.pkg, on, mine, ours)
	}
	if may, bounded := narrowerImports[from.pkg]; bounded && ours != "" && ours != mine && !slices.Contains(may, ours) {
		t.Errorf("%s imports %s: of other rooms it may import %v", from.pkg, on, may)
	}
	for lib, may := range libraries {
		if strings.HasPrefix(path, lib) && !slices.Contains(may, from.pkg) {
			t.Errorf("%s imports %s, which belongs to %v", from.pkg, path, may)
		}
	}
	if strings.HasPrefix(path, "github.com/spf13/") && mine != cobraRoom {
		t.Errorf("%s imports %s: verbs and flags are the business of %s", from.pkg, path, cobraRoom)
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
