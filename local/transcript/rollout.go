package transcript

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

// A rollout is Codex's file of a session: a JSON object a line, {"timestamp","type","payload"}. The first line is of
// the type session_meta and has the session's directory; a tool's use and its result are lines of the type
// response_item that share a call_id.
const (
	rolloutItem  = "response_item"
	RolloutBegin = "session_meta"
)

// Patch is Codex's tool that changes files.
const Patch = "apply_patch"

// shells are the names that versions of Codex have for the tool that runs a command.
var shells = map[string]bool{"shell": true, "shell_command": true, "exec_command": true, "local_shell": true}

var rolloutName = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// SessionOf returns the id of the session that a file is of: its name, or the id at the end of a rollout's.
func SessionOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if m := rolloutName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

// rolloutBlocks returns the use or the result in an item of a rollout, in the form that Claude Code has for them.
func rolloutBlocks(payload json.RawMessage) []Block {
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
		return []Block{{Type: "tool_result", ToolUseID: item.ID, Content: outputOf(item.Output)}}
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
	return []Block{{Type: "tool_use", ID: item.ID, Name: item.Name, Input: raw}}
}

// commandOf returns a shell's command as one text: of a list such as bash -lc COMMAND, its last.
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

// outputOf returns a result without the envelope that Codex has around it: an object, or lines about the run before
// Output:.
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
	} else if head, rest, ok := strings.Cut(text, "\nOutput:\n"); ok &&
		(strings.HasPrefix(head, "Chunk ID:") || strings.HasPrefix(head, "Exit code:")) {
		text = rest
	}
	if inner, err := kit.JSON(text); err == nil {
		return inner
	}
	return raw
}

// rolloutSaid returns what the user or the agent says in an item of a rollout.
func rolloutSaid(payload json.RawMessage) (role, text string) {
	var item struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(payload, &item) != nil || item.Type != "message" || item.Role != "user" && item.Role != "assistant" {
		return "", ""
	}
	if role, text = said(item.Role, item.Content); strings.HasPrefix(text, "# AGENTS.md instructions") {
		return "", ""
	}
	return role, text
}

// sessionBegun returns the id of the session that a rollout begins.
func sessionBegun(payload json.RawMessage) string {
	var begin struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(payload, &begin) // a payload of another shape names none
	return begin.ID
}
