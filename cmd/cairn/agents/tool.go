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

// A tool is a coding agent as a row: where it keeps its configuration, and how.
type tool struct {
	name, title string
	program     string            // what it is called in PATH
	base        func(site) string // directory of its configuration
	byProcess   string            // why it starts `cairn mcp` itself unless told otherwise; blank: HTTP
	entries     func(site) []written
	steps       func(site) []string // what is left for the user
	events      []event             // of its hooks
	answer      func(event, string) kit.Object
}

// An event is a moment in a tool's session at which it runs a hook.
type event struct {
	name    string // the tool's own
	does    action
	matcher string // which tools' use, where the tool has such a choice
}

// An action names the work of a hook.
type action int

const (
	tellContext action = iota // prints what is known about the project
	captureUse                // stores what a tool did
	captureTurn               // stores the model's last message
	sendSpool                 // sends what waits
)

// A site is the place that a tool is connected in.
type site struct {
	home    string   // the user's
	project string   // blank: the user's own configuration
	cairn   string   // the program, as hooks name it
	url     string   // of the MCP endpoint
	token   string   // path of the token file
	mcp     []string // arguments of `cairn` for a server of the tool's own
	process bool     // the tool starts that server
	capture bool     // the node is on this machine, so that hooks may capture
}

// tools are the tools that can be connected, by the order in which they are listed.
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

// found reports whether the tool is on this machine: its program is in PATH, or its configuration is there.
func (t tool) found(s site) bool {
	if _, err := exec.LookPath(t.program); err == nil {
		return true
	}
	s.project = ""
	_, err := os.Stat(t.base(s))
	return err == nil
}

// in is a path below a directory of the user's, which a variable may name.
func (s site) in(variable string, path ...string) string {
	return cmp.Or(os.Getenv(variable), filepath.Join(append([]string{s.home}, path...)...))
}

// inProject makes the list of what is left for the user: one step where a tool is connected in a project, else none.
func inProject(step string) func(site) []string {
	return func(s site) []string {
		if s.project == "" {
			return nil
		}
		return []string{step}
	}
}

// either is a path in the project, or else one of the user's.
func (s site) either(project, user string) string {
	if s.project != "" {
		return filepath.Join(s.project, project)
	}
	return user
}

// hookCommand is the shell command of a hook.
func (s site) hookCommand(tool, event string) string {
	return private.Quote(s.cairn) + " hook " + tool + " " + event
}

func jsonEntry(file string, v any, at ...string) written {
	return written{File: file, Format: "json", Entry: edit.Entry{At: at, Value: string(kit.Must(v))}}
}

func jsonElement(file string, v any, at ...string) written {
	w := jsonEntry(file, v, at...)
	w.List = true
	return w
}

// note tells the model about the memory, in a file that the tool gives to it.
func note(file string) written {
	return written{File: file, Format: "block", Entry: edit.Entry{At: []string{"cairn"}, Value: noteText}}
}

const noteText = `You have a memory that lasts between sessions: the MCP server "cairn".
Before you answer a question about this project, its people or earlier decisions, call recall.
When you learn something that a later session needs, such as a decision, a preference or how something is done here, call remember with one fact in one sentence.
When a fact has changed, call correct. Do not store secrets.`

// server is the entry of an MCP server in the shape that most tools share. A blank process or web stands for no type.
func (s site) server(process, web string, more ...any) (o kit.Object) {
	kind, entry := web, append(kit.Object{"url", s.url}, more...)
	if s.process {
		kind, entry = process, kit.Object{"command", s.cairn, "args", s.mcp}
	}
	if kind != "" {
		o = kit.Object{"type", kind}
	}
	return append(o, entry...)
}

// seconds is the timeout of a tool for the hook of an event, which ends long before. Codex allows no more than 3 at the
// end of a session.
func (e event) seconds() int {
	if e.does == sendSpool {
		return 3
	}
	return 10
}

// hooks are the tool's hooks in a file, each in the shape that it gives an event and its command.
func (t tool) hooks(s site, file string, shape func(e event, command string) kit.Object) (all []written) {
	for _, e := range t.events {
		if s.capture || e.does == tellContext {
			all = append(all, jsonElement(file, shape(e, s.hookCommand(t.name, e.name)), "hooks", e.name))
		}
	}
	return all
}

// matched is the shape of hooks that a tool groups by what they match. unit is the number of its units of time in a
// second.
func matched(unit int) func(event, string) kit.Object {
	return func(e event, command string) (group kit.Object) {
		if e.matcher != "" {
			group = kit.Object{"matcher", e.matcher}
		}
		return append(group, "hooks", []kit.Object{{"type", "command", "command", command, "timeout", e.seconds() * unit}})
	}
}

// specific is the answer of a hook in the shape that most tools share.
func specific(e event, known string) kit.Object {
	return kit.Object{"hookSpecificOutput", kit.Object{"hookEventName", e.name, "additionalContext", known}}
}

// additional is the answer of a hook that has nothing but what is known.
func additional(_ event, known string) kit.Object { return kit.Object{"additionalContext", known} }
