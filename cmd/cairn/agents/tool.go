package agents

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cairndb/cairn/cmd/cairn/agents/edit"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
)

// A tool describes a coding agent: the place and the format of its configuration.
type tool struct {
	name, title   string
	program       string              // executable in PATH
	configDir     func(target) string // its configuration directory
	stdioReason   string              // why its default is to start `cairn mcp`; blank: the default is HTTP
	entries       func(target) []writtenEntry
	steps         func(target) []string // remaining steps for the user
	events        []event               // events with hooks
	contextAnswer func(event, string) kit.Object
}

// An event is a point in a tool's session at which it runs a hook.
type event struct {
	name    string // the tool's name for it
	action  action
	matcher string // pattern of the tool uses that run the hook, if the tool supports one
}

// An action is what a hook does.
type action int

const (
	printContext action = iota // print what is known about the project
	captureUse                 // store what a tool did
	captureTurn                // store the model's last message
	sendSpool                  // send the captures in the spool
)

// A target describes one connection of a tool: where it is configured and how it reaches the node.
type target struct {
	home      string   // the user's home directory
	project   string   // directory; blank: the user's configuration
	program   string   // the cairn executable in commands
	url       string   // of the MCP endpoint
	tokenFile string   // path of the token file
	mcpArgs   []string // arguments of `cairn` for a server that the tool starts
	stdio     bool     // the tool starts that server instead of using HTTP
	capture   bool     // hooks may capture, because the node is on this machine
}

// tools returns the supported tools, in the order of the list.
func tools() []tool {
	return []tool{claude(), codex(), opencode(), gemini(), cursor(), vscode(), copilot()}
}

func findTool(name string) (tool, bool) {
	for _, t := range tools() {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}

func toolNames() []string { return api.Each(tools(), func(t tool) string { return t.name }) }

// found reports whether the tool is on this machine: its program is in PATH, or its configuration directory exists.
func (t tool) found(s target) bool {
	if _, err := exec.LookPath(t.program); err == nil {
		return true
	}
	s.project = ""
	_, err := os.Stat(t.configDir(s))
	return err == nil
}

// configPath returns the path in an environment variable, or else a path below the user's home directory.
func (s target) configPath(variable string, path ...string) string {
	return cmp.Or(os.Getenv(variable), filepath.Join(append([]string{s.home}, path...)...))
}

// projectStep returns the steps of a tool that needs one step in a project and none elsewhere.
func projectStep(step string) func(target) []string {
	return func(s target) []string {
		if s.project == "" {
			return nil
		}
		return []string{step}
	}
}

// projectOrUser returns a path below the project; without a project, the user's path.
func (s target) projectOrUser(project, user string) string {
	if s.project != "" {
		return filepath.Join(s.project, project)
	}
	return user
}

// hookCommand returns the shell command of a hook.
func (s target) hookCommand(tool, event string) string {
	return private.Quote(s.program) + " hook " + tool + " " + event
}

func jsonEntry(file string, v any, at ...string) writtenEntry {
	return writtenEntry{File: file, Format: "json", Entry: edit.Entry{At: at, Value: string(kit.MustJSON(v))}}
}

func jsonElement(file string, v any, at ...string) writtenEntry {
	w := jsonEntry(file, v, at...)
	w.List = true
	return w
}

// noteEntry returns the entry with the note to the model, for a file that the tool passes to the model.
func noteEntry(file string) writtenEntry {
	return writtenEntry{File: file, Format: "block", Entry: edit.Entry{At: []string{"cairn"}, Value: noteText}}
}

const noteText = `You have a memory that lasts between sessions: the MCP server "cairn".
Before you answer a question about this project, its people or earlier decisions, call recall.
When you learn something that a later session needs, such as a decision, a preference or how something is done here, call remember with one fact in one sentence.
When a fact has changed, call correct. Do not store secrets.`

// serverEntry returns the entry of an MCP server in the form that most tools share. process and web are the values of
// "type" for stdio and HTTP; blank omits it.
func (s target) serverEntry(process, web string, more ...any) (o kit.Object) {
	kind, entry := web, append(kit.Object{"url", s.url}, more...)
	if s.stdio {
		kind, entry = process, kit.Object{"command", s.program, "args", s.mcpArgs}
	}
	if kind != "" {
		o = kit.Object{"type", kind}
	}
	return append(o, entry...)
}

// timeoutSeconds returns the timeout that the tool gets for the event's hook. The hook itself ends much earlier.
// Codex allows at most 3 seconds at the end of a session.
func (e event) timeoutSeconds() int {
	if e.action == sendSpool {
		return 3
	}
	return 10
}

// hookEntries returns the entries of the tool's hooks in a file. shape builds the tool's form of a hook.
func (t tool) hookEntries(s target, file string, shape func(e event, command string) kit.Object) (all []writtenEntry) {
	for _, e := range t.events {
		if s.capture || e.action == printContext {
			all = append(all, jsonElement(file, shape(e, s.hookCommand(t.name, e.name)), "hooks", e.name))
		}
	}
	return all
}

// groupedHook returns the shape of hooks that a tool groups by matcher. unit is the number of the tool's time units
// in a second.
func groupedHook(unit int) func(event, string) kit.Object {
	return func(e event, command string) (group kit.Object) {
		if e.matcher != "" {
			group = kit.Object{"matcher", e.matcher}
		}
		return append(group, "hooks", []kit.Object{{"type", "command", "command", command, "timeout", e.timeoutSeconds() * unit}})
	}
}

// hookSpecificAnswer returns a hook's answer with context, in the form that most tools share.
func hookSpecificAnswer(e event, known string) kit.Object {
	return kit.Object{"hookSpecificOutput", kit.Object{"hookEventName", e.name, "additionalContext", known}}
}

// plainAnswer returns a hook's answer that contains only the context.
func plainAnswer(_ event, known string) kit.Object { return kit.Object{"additionalContext", known} }
