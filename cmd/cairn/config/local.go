package config

import (
	"fmt"
	"slices"
	"strings"
)

// Local is the section [local]: the surfaces for clients on this host.
type Local struct {
	Home          string   `toml:"home" default:"HOME/run" doc:"Directory of their sockets and files."`
	Disable       []string `toml:"disable" default:"none" doc:"Names of surfaces that are not opened: process, debug, string, sift, covenant."`
	AllowShutdown *bool    `toml:"allow_shutdown" default:"true in dev, false in serve" doc:"Whether clients on this host may stop the node."`
	StringPort    int      `toml:"string_port" default:"3923" doc:"Port of stringd, on loopback."`
	CovenantPort  int      `toml:"covenant_port" default:"8421" doc:"Port of Covenant's HTTP mirror, on loopback."`
	Sift
	Covenant
	String
}

// Surfaces lists the valid names for disable.
var Surfaces = []string{"process", "debug", "string", "sift", "covenant"}

// check returns an error for an unknown name in disable, because the intended surface would stay open.
func (l Local) check() error {
	for _, name := range l.Disable {
		if !slices.Contains(Surfaces, name) {
			return fmt.Errorf("local.disable: no surface is called %q: want some of %s", name, strings.Join(Surfaces, ", "))
		}
	}
	return nil
}

// Offsets of the surfaces' ports from the base port.
const (
	StringOffset   = 4
	CovenantOffset = 5
)

// Covenant holds the keys of [local] for the Covenant surface.
type Covenant struct {
	Home      string   `toml:"covenant_home" default:"HOME/run/covenant" doc:"The directory that its clients name in COVENANT_HOME."`
	HTTP      string   `toml:"covenant_http" default:"127.0.0.1:8421, if it is free" doc:"Address of the HTTP mirror, or off."`
	Origins   []string `toml:"covenant_origins" default:"http://localhost:3000" doc:"Origins of web pages that may send requests to the mirror, with a token."`
	Bootstrap *bool    `toml:"covenant_bootstrap" default:"true" doc:"Whether a new operator gets its first capabilities."`
	Score     bool     `toml:"covenant_score" default:"false" doc:"Whether search results carry metadata._score."`
}

// Sift holds the keys of [local] for the SiftCoder surface.
type Sift struct {
	Home        string            `toml:"sift_home" default:"HOME/run/siftcoder" doc:"The directory that its clients use as ~/.siftcoder."`
	NS          string            `toml:"sift_ns" default:"SIFTCODER_NS of the environment, or default" doc:"Namespace of its clients' memories."`
	Database    string            `toml:"sift_database" default:"default" doc:"Database of its clients' memories."`
	Shared      *bool             `toml:"sift_shared" default:"true" doc:"Whether workspaces see what other protocols stored."`
	Workspaces  []string          `toml:"sift_workspaces" default:"none" doc:"Directories that are served from the start."`
	Names       map[string]string `toml:"sift_names" doc:"\"<ns>/<key>\" = name: workspaces of one name share their memories."`
	Transcripts string            `toml:"sift_transcripts" default:"~/.claude/projects" doc:"Directory of Claude Code's transcripts, which a backfill reads."`
	Rollouts    string            `toml:"sift_rollouts" default:"~/.codex/sessions, or below CODEX_HOME" doc:"Directory of Codex's rollouts, which a backfill reads."`
}

// String holds the keys of [local] for the stringd surface.
type String struct {
	Shell    *bool    `toml:"string_shell" default:"true in dev, false in serve" doc:"Whether /exec, actions and bash topics run programs."`
	Origins  []string `toml:"string_origins" default:"none" doc:"Origins of web pages that may send requests, as scheme://host:port."`
	Roots    []string `toml:"string_roots" default:"none, in dev the one it was started in" doc:"Directories that agents may use as homes and in allowed_paths, besides the homes made for them."`
	Access   string   `toml:"string_access" default:"workspace" doc:"workspace: documents lie in the agent's directories; or full."`
	Outbound bool     `toml:"string_outbound" default:"false" doc:"Whether documents' actions may send requests to other hosts."`
}
