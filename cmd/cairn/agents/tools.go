package agents

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cairndb/cairn/cmd/cairn/agents/edit"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/private"
)

func claude() tool {
	t := tool{name: "claude", title: "Claude Code", program: "claude", answer: specific,
		base: func(s site) string { return s.in("CLAUDE_CONFIG_DIR", ".claude") },
		events: []event{{"SessionStart", tellContext, ""},
			{"PostToolUse", captureUse, "Read|Write|Edit|MultiEdit|NotebookEdit|Bash|Grep|Glob"},
			{"Stop", captureTurn, ""}, {"SessionEnd", sendSpool, ""}}}
	t.entries = func(s site) []written {
		servers := filepath.Join(s.in("CLAUDE_CONFIG_DIR"), ".claude.json")
		all := []written{jsonEntry(s.either(".mcp.json", servers),
			s.server("stdio", "http", "headersHelper", s.hookCommand(t.name, headers)), "mcpServers", "cairn")}
		all = append(all, t.hooks(s, s.either(".claude/settings.json", filepath.Join(t.base(s), "settings.json")), matched(1))...)
		return append(all, note(s.either("CLAUDE.md", filepath.Join(t.base(s), "CLAUDE.md"))))
	}
	t.steps = inProject("start claude in the project: it asks each user once whether the project's server cairn may run")
	return t
}

func codex() tool {
	t := tool{name: "codex", title: "Codex", program: "codex", answer: specific,
		base: func(s site) string { return s.in("CODEX_HOME", ".codex") },
		events: []event{{"SessionStart", tellContext, ""}, {"PostToolUse", captureUse, "Bash|apply_patch"},
			{"Stop", captureTurn, ""}, {"SessionEnd", sendSpool, ""}}}
	t.entries = func(s site) []written {
		table := "[mcp_servers.cairn]\n"
		if s.process {
			table += fmt.Sprintf("command = %s\nargs = %s\n", kit.Must(s.cairn), kit.Must(s.mcp))
		} else {
			table += fmt.Sprintf("url = %s\nhttp_headers_helper = %s\n", kit.Must(s.url), kit.Must(s.hookCommand(t.name, headers)))
		}
		dir := s.either(".codex", t.base(s))
		all := []written{{File: filepath.Join(dir, "config.toml"), Format: "toml",
			Entry: edit.Entry{At: []string{"mcp_servers", "cairn"}, Value: table}}}
		all = append(all, t.hooks(s, filepath.Join(dir, "hooks.json"), matched(1))...)
		return append(all, note(s.either("AGENTS.md", filepath.Join(t.base(s), "AGENTS.md"))))
	}
	trust := inProject("start codex in the project and trust the directory: Codex reads a project's configuration only then")
	t.steps = func(s site) []string {
		return append(trust(s), "start codex, type /hooks and trust the hooks of cairn: Codex runs a new hook only after you did")
	}
	return t
}

func opencode() tool {
	t := tool{name: "opencode", title: "OpenCode", program: "opencode",
		base:   func(s site) string { return filepath.Join(s.in("XDG_CONFIG_HOME", ".config"), "opencode") },
		events: []event{{"session.created", tellContext, ""}, {"tool.execute.after", captureUse, ""}, {"session.idle", sendSpool, ""}},
		answer: additional}
	t.entries = func(s site) []written {
		file := s.either("opencode.json", filepath.Join(t.base(s), "opencode.json"))
		if _, err := os.Stat(file + "c"); err == nil {
			file += "c"
		}
		server := kit.Object{"type", "remote", "url", s.url, "headers", map[string]string{"Authorization": "Bearer {file:" + s.token + "}"},
			"oauth", false, "enabled", true}
		if s.process {
			server = kit.Object{"type", "local", "command", append([]string{s.cairn}, s.mcp...), "enabled", true}
		}
		plugin := strings.ReplaceAll(opencodePlugin, "CAIRN", string(kit.Must(s.cairn)))
		if !s.capture {
			plugin, _, _ = strings.Cut(plugin, "  // captures\n")
			plugin += "})\n"
		}
		return []written{jsonEntry(file, server, "mcp", "cairn"),
			{File: s.either(".opencode/plugins/cairn.js", filepath.Join(t.base(s), "plugins", "cairn.js")), Format: "file",
				Entry: edit.Entry{Value: plugin}},
			note(s.either("AGENTS.md", filepath.Join(t.base(s), "AGENTS.md")))}
	}
	return t
}

// opencodePlugin has OpenCode run the hooks. A hook that fails or hangs changes nothing.
//
//go:embed opencode.js
var opencodePlugin string

func gemini() tool {
	t := tool{name: "gemini", title: "Gemini CLI", program: "gemini", answer: specific,
		byProcess: "Gemini CLI can take a token for HTTP from an environment variable alone",
		base:      func(s site) string { return filepath.Join(s.home, ".gemini") },
		events: []event{{"SessionStart", tellContext, ""}, {"AfterTool", captureUse, ""}, {"AfterAgent", captureTurn, ""},
			{"SessionEnd", sendSpool, ""}}}
	t.entries = func(s site) []written {
		file := s.either(".gemini/settings.json", filepath.Join(t.base(s), "settings.json"))
		// Its stdio servers have no type; HTTP needs one.
		server := s.server("", "http", "headers", map[string]string{"Authorization": "Bearer $CAIRN_TOKEN"})
		all := append([]written{jsonEntry(file, server, "mcpServers", "cairn")}, t.hooks(s, file, matched(1000))...)
		return append(all, note(s.either("GEMINI.md", filepath.Join(t.base(s), "GEMINI.md"))))
	}
	trust := inProject("trust the folder when gemini asks: it disables the servers of other folders")
	t.steps = func(s site) []string { return append(trust(s), profileStep(s)...) }
	return t
}

func cursor() tool {
	t := tool{name: "cursor", title: "Cursor", program: "cursor",
		byProcess: "Cursor can take a token for HTTP from an environment variable alone, and a desktop program does not see those of the shell",
		base:      func(s site) string { return filepath.Join(s.home, ".cursor") },
		events: []event{{"sessionStart", tellContext, ""}, {"postToolUse", captureUse, ""},
			{"afterAgentResponse", captureTurn, ""}, {"sessionEnd", sendSpool, ""}},
		answer: func(_ event, known string) kit.Object { return kit.Object{"additional_context", known} }}
	t.entries = func(s site) []written {
		dir := s.either(".cursor", t.base(s))
		hooks := filepath.Join(dir, "hooks.json")
		all := []written{jsonEntry(filepath.Join(dir, "mcp.json"),
			s.server("", "", "headers", map[string]string{"Authorization": "Bearer ${env:CAIRN_TOKEN}"}), "mcpServers", "cairn"),
			version(hooks)}
		all = append(all, t.hooks(s, hooks, func(e event, command string) kit.Object {
			return kit.Object{"command", command, "timeout", e.seconds()}
		})...)
		if s.project != "" {
			all = append(all, note(filepath.Join(s.project, "AGENTS.md")))
		}
		return all
	}
	t.steps = profileStep
	return t
}

// profileStep says how a tool gets the token that it takes from the environment.
func profileStep(s site) []string {
	if s.process {
		return nil
	}
	return []string{`add this line to your shell's profile:  export CAIRN_TOKEN="$(cat ` + private.Quote(s.token) + `)"`}
}

func vscode() tool {
	t := tool{name: "vscode", title: "VS Code", program: "code",
		base: func(s site) string {
			if runtime.GOOS == "darwin" {
				return filepath.Join(s.home, "Library", "Application Support", "Code", "User")
			}
			return filepath.Join(s.home, ".config", "Code", "User")
		}}
	t.entries = func(s site) []written {
		file := s.either(".vscode/mcp.json", filepath.Join(t.base(s), "mcp.json"))
		all := []written{jsonEntry(file,
			s.server("stdio", "http", "headers", map[string]string{"Authorization": "Bearer ${input:cairn-token}"}), "servers", "cairn")}
		if !s.process {
			all = append(all, jsonElement(file,
				kit.Object{"type", "promptString", "id", "cairn-token", "description", "Token of Cairn", "password", true}, "inputs"))
		}
		if s.project != "" {
			all = append(all, note(filepath.Join(s.project, ".github", "copilot-instructions.md")))
		}
		return all
	}
	t.steps = func(s site) []string {
		if s.process {
			return nil
		}
		return []string{"VS Code asks for the token once, when the server starts: paste the content of " + s.token}
	}
	return t
}

// version is the version of a file of hooks; a version that the file has stays.
func version(file string) written {
	w := jsonEntry(file, 1, "version")
	w.any = true
	return w
}

func copilot() tool {
	t := tool{name: "copilot", title: "GitHub Copilot CLI", program: "copilot",
		byProcess: "Copilot CLI has no reference to a file with a token",
		base:      func(s site) string { return filepath.Join(s.home, ".copilot") },
		events:    []event{{"sessionStart", tellContext, ""}, {"postToolUse", captureUse, ""}, {"sessionEnd", sendSpool, ""}},
		answer:    additional}
	t.entries = func(s site) []written {
		server := kit.Object{"type", "http", "url", s.url, "headers",
			map[string]string{"Authorization": "Bearer $CAIRN_TOKEN"}, "tools", []string{"*"}}
		if s.process {
			server = kit.Object{"type", "local", "command", s.cairn, "args", s.mcp, "tools", []string{"*"}}
		}
		if s.project == "" {
			return []written{jsonEntry(filepath.Join(t.base(s), "mcp-config.json"), server, "mcpServers", "cairn")}
		}
		hooks := filepath.Join(s.project, ".github", "hooks", "cairn.json")
		all := []written{version(hooks)}
		all = append(all, t.hooks(s, hooks, func(e event, command string) kit.Object {
			return kit.Object{"type", "command", "bash", command, "timeoutSec", e.seconds()}
		})...)
		return append(all, note(filepath.Join(s.project, ".github", "copilot-instructions.md")))
	}
	t.steps = func(s site) []string {
		if s.project != "" {
			return []string{"Copilot CLI has its servers in the user's configuration: run cairn connect copilot as well"}
		}
		return append([]string{"Copilot CLI has its hooks in projects: run cairn connect copilot --project DIR where you want them"},
			profileStep(s)...)
	}
	return t
}
