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
	t := tool{name: "claude", title: "Claude Code", program: "claude", contextAnswer: hookSpecificAnswer,
		configDir: func(s target) string { return s.configPath("CLAUDE_CONFIG_DIR", ".claude") },
		events: []event{{"SessionStart", printContext, ""},
			{"PostToolUse", captureUse, "Read|Write|Edit|MultiEdit|NotebookEdit|Bash|Grep|Glob"},
			{"Stop", captureTurn, ""}, {"SessionEnd", sendSpool, ""}}}
	t.entries = func(s target) []writtenEntry {
		servers := filepath.Join(s.configPath("CLAUDE_CONFIG_DIR"), ".claude.json")
		all := []writtenEntry{jsonEntry(s.projectOrUser(".mcp.json", servers),
			s.serverEntry("stdio", "http", "headersHelper", s.hookCommand(t.name, headersEvent)), "mcpServers", "cairn")}
		all = append(all, t.hookEntries(s, s.projectOrUser(".claude/settings.json", filepath.Join(t.configDir(s), "settings.json")), groupedHook(1))...)
		return append(all, noteEntry(s.projectOrUser("CLAUDE.md", filepath.Join(t.configDir(s), "CLAUDE.md"))))
	}
	t.steps = projectStep("start claude in the project: it asks each user once whether the project's server cairn may run")
	return t
}

func codex() tool {
	t := tool{name: "codex", title: "Codex", program: "codex", contextAnswer: hookSpecificAnswer,
		configDir: func(s target) string { return s.configPath("CODEX_HOME", ".codex") },
		events: []event{{"SessionStart", printContext, ""}, {"PostToolUse", captureUse, "Bash|apply_patch"},
			{"Stop", captureTurn, ""}, {"SessionEnd", sendSpool, ""}}}
	t.entries = func(s target) []writtenEntry {
		table := "[mcp_servers.cairn]\n"
		if s.stdio {
			table += fmt.Sprintf("command = %s\nargs = %s\n", kit.MustJSON(s.program), kit.MustJSON(s.mcpArgs))
		} else {
			table += fmt.Sprintf("url = %s\nhttp_headers_helper = %s\n", kit.MustJSON(s.url), kit.MustJSON(s.hookCommand(t.name, headersEvent)))
		}
		dir := s.projectOrUser(".codex", t.configDir(s))
		all := []writtenEntry{{File: filepath.Join(dir, "config.toml"), Format: "toml",
			Entry: edit.Entry{At: []string{"mcp_servers", "cairn"}, Value: table}}}
		all = append(all, t.hookEntries(s, filepath.Join(dir, "hooks.json"), groupedHook(1))...)
		return append(all, noteEntry(s.projectOrUser("AGENTS.md", filepath.Join(t.configDir(s), "AGENTS.md"))))
	}
	trust := projectStep("start codex in the project and trust the directory: Codex reads a project's configuration only then")
	t.steps = func(s target) []string {
		return append(trust(s), "start codex, type /hooks and trust the hooks of cairn: Codex runs a new hook only after you did")
	}
	return t
}

func opencode() tool {
	t := tool{name: "opencode", title: "OpenCode", program: "opencode",
		configDir:     func(s target) string { return filepath.Join(s.configPath("XDG_CONFIG_HOME", ".config"), "opencode") },
		events:        []event{{"session.created", printContext, ""}, {"tool.execute.after", captureUse, ""}, {"session.idle", sendSpool, ""}},
		contextAnswer: plainAnswer}
	t.entries = func(s target) []writtenEntry {
		file := s.projectOrUser("opencode.json", filepath.Join(t.configDir(s), "opencode.json"))
		if _, err := os.Stat(file + "c"); err == nil {
			file += "c"
		}
		server := kit.Object{"type", "remote", "url", s.url, "headers", map[string]string{"Authorization": "Bearer {file:" + s.tokenFile + "}"},
			"oauth", false, "enabled", true}
		if s.stdio {
			server = kit.Object{"type", "local", "command", append([]string{s.program}, s.mcpArgs...), "enabled", true}
		}
		plugin := strings.ReplaceAll(opencodePlugin, "CAIRN", string(kit.MustJSON(s.program)))
		if !s.capture {
			plugin, _, _ = strings.Cut(plugin, "  // captures\n")
			plugin += "})\n"
		}
		return []writtenEntry{jsonEntry(file, server, "mcp", "cairn"),
			{File: s.projectOrUser(".opencode/plugins/cairn.js", filepath.Join(t.configDir(s), "plugins", "cairn.js")), Format: "file",
				Entry: edit.Entry{Value: plugin}},
			noteEntry(s.projectOrUser("AGENTS.md", filepath.Join(t.configDir(s), "AGENTS.md")))}
	}
	return t
}

// opencodePlugin makes OpenCode run the hooks. It ignores a hook that fails or hangs.
//
//go:embed opencode.js
var opencodePlugin string

func gemini() tool {
	t := tool{name: "gemini", title: "Gemini CLI", program: "gemini", contextAnswer: hookSpecificAnswer,
		stdioReason: "Gemini CLI can take a token for HTTP from an environment variable alone",
		configDir:   func(s target) string { return filepath.Join(s.home, ".gemini") },
		events: []event{{"SessionStart", printContext, ""}, {"AfterTool", captureUse, ""}, {"AfterAgent", captureTurn, ""},
			{"SessionEnd", sendSpool, ""}}}
	t.entries = func(s target) []writtenEntry {
		file := s.projectOrUser(".gemini/settings.json", filepath.Join(t.configDir(s), "settings.json"))
		// Gemini's stdio servers have no type; HTTP servers need one.
		server := s.serverEntry("", "http", "headers", map[string]string{"Authorization": "Bearer $CAIRN_TOKEN"})
		all := append([]writtenEntry{jsonEntry(file, server, "mcpServers", "cairn")}, t.hookEntries(s, file, groupedHook(1000))...)
		return append(all, noteEntry(s.projectOrUser("GEMINI.md", filepath.Join(t.configDir(s), "GEMINI.md"))))
	}
	trust := projectStep("trust the folder when gemini asks: it disables the servers of other folders")
	t.steps = func(s target) []string { return append(trust(s), profileStep(s)...) }
	return t
}

func cursor() tool {
	t := tool{name: "cursor", title: "Cursor", program: "cursor",
		stdioReason: "Cursor can take a token for HTTP from an environment variable alone, and a desktop program does not see those of the shell",
		configDir:   func(s target) string { return filepath.Join(s.home, ".cursor") },
		events: []event{{"sessionStart", printContext, ""}, {"postToolUse", captureUse, ""},
			{"afterAgentResponse", captureTurn, ""}, {"sessionEnd", sendSpool, ""}},
		contextAnswer: func(_ event, known string) kit.Object { return kit.Object{"additional_context", known} }}
	t.entries = func(s target) []writtenEntry {
		dir := s.projectOrUser(".cursor", t.configDir(s))
		hooks := filepath.Join(dir, "hooks.json")
		all := []writtenEntry{jsonEntry(filepath.Join(dir, "mcp.json"),
			s.serverEntry("", "", "headers", map[string]string{"Authorization": "Bearer ${env:CAIRN_TOKEN}"}), "mcpServers", "cairn"),
			versionEntry(hooks)}
		all = append(all, t.hookEntries(s, hooks, func(e event, command string) kit.Object {
			return kit.Object{"command", command, "timeout", e.timeoutSeconds()}
		})...)
		if s.project != "" {
			all = append(all, noteEntry(filepath.Join(s.project, "AGENTS.md")))
		}
		return all
	}
	t.steps = profileStep
	return t
}

// profileStep returns the step that sets CAIRN_TOKEN, for tools that read the token from the environment.
func profileStep(s target) []string {
	if s.stdio {
		return nil
	}
	return []string{`add this line to your shell's profile:  export CAIRN_TOKEN="$(cat ` + private.Quote(s.tokenFile) + `)"`}
}

func vscode() tool {
	t := tool{name: "vscode", title: "VS Code", program: "code",
		configDir: func(s target) string {
			if runtime.GOOS == "darwin" {
				return filepath.Join(s.home, "Library", "Application Support", "Code", "User")
			}
			return filepath.Join(s.home, ".config", "Code", "User")
		}}
	t.entries = func(s target) []writtenEntry {
		file := s.projectOrUser(".vscode/mcp.json", filepath.Join(t.configDir(s), "mcp.json"))
		all := []writtenEntry{jsonEntry(file,
			s.serverEntry("stdio", "http", "headers", map[string]string{"Authorization": "Bearer ${input:cairn-token}"}), "servers", "cairn")}
		if !s.stdio {
			all = append(all, jsonElement(file,
				kit.Object{"type", "promptString", "id", "cairn-token", "description", "Token of Cairn", "password", true}, "inputs"))
		}
		if s.project != "" {
			all = append(all, noteEntry(filepath.Join(s.project, ".github", "copilot-instructions.md")))
		}
		return all
	}
	t.steps = func(s target) []string {
		if s.stdio {
			return nil
		}
		return []string{"VS Code asks for the token once, when the server starts: paste the content of " + s.tokenFile}
	}
	return t
}

// versionEntry returns the version field of a file of hooks. An existing version stays.
func versionEntry(file string) writtenEntry {
	w := jsonEntry(file, 1, "version")
	w.anyValue = true
	return w
}

func copilot() tool {
	t := tool{name: "copilot", title: "GitHub Copilot CLI", program: "copilot",
		stdioReason:   "Copilot CLI has no reference to a file with a token",
		configDir:     func(s target) string { return filepath.Join(s.home, ".copilot") },
		events:        []event{{"sessionStart", printContext, ""}, {"postToolUse", captureUse, ""}, {"sessionEnd", sendSpool, ""}},
		contextAnswer: plainAnswer}
	t.entries = func(s target) []writtenEntry {
		server := kit.Object{"type", "http", "url", s.url, "headers",
			map[string]string{"Authorization": "Bearer $CAIRN_TOKEN"}, "tools", []string{"*"}}
		if s.stdio {
			server = kit.Object{"type", "local", "command", s.program, "args", s.mcpArgs, "tools", []string{"*"}}
		}
		if s.project == "" {
			return []writtenEntry{jsonEntry(filepath.Join(t.configDir(s), "mcp-config.json"), server, "mcpServers", "cairn")}
		}
		hooks := filepath.Join(s.project, ".github", "hooks", "cairn.json")
		all := []writtenEntry{versionEntry(hooks)}
		all = append(all, t.hookEntries(s, hooks, func(e event, command string) kit.Object {
			return kit.Object{"type", "command", "bash", command, "timeoutSec", e.timeoutSeconds()}
		})...)
		return append(all, noteEntry(filepath.Join(s.project, ".github", "copilot-instructions.md")))
	}
	t.steps = func(s target) []string {
		if s.project != "" {
			return []string{"Copilot CLI has its servers in the user's configuration: run cairn connect copilot as well"}
		}
		return append([]string{"Copilot CLI has its hooks in projects: run cairn connect copilot --project DIR where you want them"},
			profileStep(s)...)
	}
	return t
}
