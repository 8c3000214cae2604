package config

// Local is the [local] section: the surfaces for clients on this host.
type Local struct {
	Home          string   `toml:"home"`           // where their sockets and files are; HOME/run by default
	Disable       []string `toml:"disable"`        // names of surfaces that are not opened
	AllowShutdown *bool    `toml:"allow_shutdown"` // clients on this host may stop the node; true in dev, false in serve
	StringPort    int      `toml:"string_port"`    // 3923
	CovenantPort  int      `toml:"covenant_port"`  // 8421: Covenant's HTTP mirror
	Sift
	Covenant
	String
}

// Where the surfaces' ports are, from the base.
const (
	StringOffset   = 4
	CovenantOffset = 5
)

// Covenant is the part of [local] that is the Covenant surface's.
type Covenant struct {
	Home      string   `toml:"covenant_home"`      // COVENANT_HOME; HOME/run/covenant by default
	HTTP      string   `toml:"covenant_http"`      // address of the HTTP mirror, or off; 127.0.0.1:8421, if it is free
	Origins   []string `toml:"covenant_origins"`   // of web pages that may ask the mirror, with a token; http://localhost:3000
	Bootstrap *bool    `toml:"covenant_bootstrap"` // a new operator gets its first capabilities; true by default
	Score     bool     `toml:"covenant_score"`     // search results carry metadata._score
}

// Sift is the part of [local] that is the SiftCoder surface's.
type Sift struct {
	Home        string            `toml:"sift_home"`        // what its clients call ~/.siftcoder; HOME/run/siftcoder by default
	NS          string            `toml:"sift_ns"`          // SIFTCODER_NS, or default
	Database    string            `toml:"sift_database"`    // default
	Shared      *bool             `toml:"sift_shared"`      // workspaces see what other protocols stored; true by default
	Workspaces  []string          `toml:"sift_workspaces"`  // directories that are served from the start
	Names       map[string]string `toml:"sift_names"`       // "<ns>/<key>" = name: workspaces of one name share their memories
	Transcripts string            `toml:"sift_transcripts"` // ~/.claude/projects
}

// String is the part of [local] that is the stringd surface's.
type String struct {
	Shell    *bool    `toml:"string_shell"`    // /exec, actions and bash topics run programs; true in dev, false in serve
	Origins  []string `toml:"string_origins"`  // none: origins of web pages that may ask, as scheme://host:port
	Roots    []string `toml:"string_roots"`    // directories that agents may have as homes and in allowed_paths, beside homes made for them; none, and in dev the one it was started in
	Access   string   `toml:"string_access"`   // workspace (default): documents lie in the agent's directories; or full
	Outbound bool     `toml:"string_outbound"` // documents' actions may ask other hosts
}
