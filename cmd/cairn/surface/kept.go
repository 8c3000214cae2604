package surface

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/covenant/audit"
	covenant "github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/mailbox"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/seal"
)

// Kept returns the files of this host's surfaces that are encrypted with the home. keys decrypt the registry of
// agents.
func Kept(up config.Setup, keys *seal.Ring) (kept []home.Kept, err error) {
	run := cmp.Or(up.Local.Home, filepath.Join(up.Node.Home, "run"))
	cov := cmp.Or(up.Local.Covenant.Home, filepath.Join(run, "covenant"))
	kept = []home.Kept{{Path: filepath.Join(cov, "peers", "registry.jsonl"), Place: covenant.RegistryPlace},
		{Path: filepath.Join(cov, "audit", "events.jsonl"), Place: audit.LinePlace},
		{Path: filepath.Join(cov, "audit", "events.chain.jsonl"), Place: audit.LinePlace},
		{Path: filepath.Join(cov, "a2a", "events.jsonl"), Place: mailbox.LinePlace}}
	data, agents, err := stringDirs(up.Local, run, up.Dev)
	if err != nil {
		return nil, err
	}
	registry := filepath.Join(data, "agents.json")
	homes, err := filepath.Glob(filepath.Join(agents, "*"))
	if err != nil {
		return nil, err
	}
	if raw, err := os.ReadFile(registry); err == nil { // includes agents whose homes are elsewhere
		if seal.IsSealed(raw) {
			if raw, err = keys.Plain(raw); err != nil {
				return nil, fmt.Errorf("%s: %w", registry, err)
			}
		}
		var list []struct {
			Home string `json:"home"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", registry, err)
		}
		for _, l := range list {
			homes = append(homes, l.Home)
		}
	}
	kept = append(kept, home.Kept{Path: registry})
	seen := map[string]bool{}
	for _, h := range homes {
		events, err := filepath.Glob(filepath.Join(h, "events", "evt_*.json"))
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if !seen[e] {
				seen[e] = true
				kept = append(kept, home.Kept{Path: e})
			}
		}
	}
	return kept, nil
}
