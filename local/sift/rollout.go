package sift

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
)

// A rollout is Codex's file of a session: a JSON object a line, {"timestamp","type","payload"}. The first line is of
// the type session_meta and has the session's directory; a tool's use and its result are lines of the type
// response_item that share a call_id.
const (
	rolloutItem  = "response_item"
	rolloutBegin = "session_meta"
)

// patch is Codex's tool that changes files.
const patch = "apply_patch"

// shells are the names that versions of Codex have for the tool that runs a command.
var shells = map[string]bool{"shell": true, "shell_command": true, "exec_command": true, "local_shell": true}

// rollouts finds the rollouts of a workspace, or all, and when they changed. They lie in a directory a day.
func rollouts(ctx context.Context, root string, w Workspace, own bool) map[string]time.Time {
	changed := map[string]time.Time{}
	days, err := filepath.Glob(filepath.Join(root, "[0-9]*", "[0-9]*", "[0-9]*"))
	if err != nil {
		return nil
	}
	for _, day := range days {
		_ = filepath.WalkDir(day, func(path string, e fs.DirEntry, err error) error { // a directory that cannot be read has none
			switch {
			case ctx.Err() != nil:
				return fs.SkipAll
			case err != nil || e.IsDir() && path != day:
				return fs.SkipDir
			case !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), "rollout-") || filepath.Ext(e.Name()) != ".jsonl" || own && !w.holds(rolloutDir(path)):
				return nil
			}
			if i, err := e.Info(); err == nil {
				changed[path] = i.ModTime()
			}
			return nil
		})
	}
	return changed
}

// holds says whether a directory is in the workspace.
func (w Workspace) holds(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir == w.Dir || dir == w.Top || strings.HasPrefix(dir, strings.TrimSuffix(w.Top, "/")+"/")
}

// rolloutDir is the directory of a rollout's session; blank when its first line does not say.
func rolloutDir(path string) string {
	f, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for raw, err := range kit.Lines(f, maxLine) {
		var l struct {
			Type    string `json:"type"`
			Payload struct {
				Dir string `json:"cwd"`
			} `json:"payload"`
		}
		if err == nil && json.Unmarshal(raw, &l) == nil && l.Type == rolloutBegin {
			return l.Payload.Dir
		}
		return ""
	}
	return ""
}

var rolloutName = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// sessionOf is the id of the session that a file is of: its name, or the id at the end of a rollout's.
func sessionOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if m := rolloutName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

// rolloutBlocks are the use or the result in an item of a rollout, in the form that Claude Code has for them.
func rolloutBlocks(payload json.RawMessage) []block {
	var item struct {
		Type      string          `json:"type"`
		ID        string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Action    json.RawMessage `json:"action"`
		Output    json.RawMessage `json:"output"`
	}
	if json.Unmarshal(payload, &item) != nil {
		return nil
	}
	switch item.Type {
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		return []block{{Type: "tool_result", ToolUseID: item.ID, Content: outputOf(item.Output)}}
	case "local_shell_call":
		item.Name, item.Arguments = "local_shell", string(item.Action)
	case "function_call", "custom_tool_call":
	default:
		return nil
	}
	input := any(item.Input)
	if item.Arguments != "" && json.Unmarshal([]byte(item.Arguments), &input) != nil {
		return nil
	}
	if shells[item.Name] {
		item.Name, input = "Bash", map[string]any{"command": commandOf(input)}
	}
	raw, err := kit.JSON(input)
	if err != nil {
		return nil
	}
	return []block{{Type: "tool_use", ID: item.ID, Name: item.Name, Input: raw}}
}

// commandOf is a shell's command as one text: of a list such as bash -lc COMMAND, its last.
func commandOf(input any) string {
	m, ok := input.(map[string]any)
	if !ok {
		return ""
	}
	command := m["command"]
	if command == nil {
		command = m["cmd"]
	}
	switch c := command.(type) {
	case string:
		return c
	case []any:
		var words []string
		for _, w := range c {
			if s, ok := w.(string); ok {
				words = append(words, s)
			}
		}
		if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return ""
}

// outputOf is a result without the envelope that Codex has around it: an object, or lines about the run before Output:.
func outputOf(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	var envelope struct {
		Output *string `json:"output"`
	}
	if json.Unmarshal([]byte(text), &envelope) == nil && envelope.Output != nil {
		text = *envelope.Output
	} else if head, rest, ok := strings.Cut(text, "\nOutput:\n"); ok && (strings.HasPrefix(head, "Chunk ID:") || strings.HasPrefix(head, "Exit code:")) {
		text = rest
	}
	if inner, err := kit.JSON(text); err == nil {
		return inner
	}
	return raw
}
