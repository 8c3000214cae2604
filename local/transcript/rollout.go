package transcript

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

// A rollout is the session file of Codex. Each line is a JSON object {"timestamp","type","payload"}. The first line
// has the type session_meta and holds the directory of the session. A tool call and its result are lines of the type
// response_item with the same call_id.
const (
	rolloutItem = "response_item"
	RolloutMeta = "session_meta"
)

// Patch is the name of Codex's tool that changes files.
const Patch = "apply_patch"

// shells holds the names that the versions of Codex use for the tool that runs a command.
var shells = map[string]bool{"shell": true, "shell_command": true, "exec_command": true, "local_shell": true}

var rolloutName = regexp.MustCompile(`^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// SessionOf returns the session id of a file: its name without the extension, or the id at the end of a rollout's
// name.
func SessionOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if m := rolloutName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

// rolloutBlocks returns the tool call or the result in an item of a rollout, as a block of Claude Code.
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

// commandOf returns a shell command as one text. Of a list such as bash -lc COMMAND, it returns COMMAND.
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

// outputOf returns a result without the envelope that Codex wraps around it. The envelope is a JSON object, or lines
// about the run that end with Output:.
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

// rolloutMessage returns the role and the text of a message in an item of a rollout.
func rolloutMessage(payload json.RawMessage) (role, text string) {
	var item struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(payload, &item) != nil || item.Type != "message" || item.Role != "user" && item.Role != "assistant" {
		return "", ""
	}
	if role, text = messageText(item.Role, item.Content); strings.HasPrefix(text, "# AGENTS.md instructions") {
		return "", ""
	}
	return role, text
}

// beginSessionID returns the session id in the first line of a rollout.
func beginSessionID(payload json.RawMessage) string {
	var begin struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(payload, &begin) // a payload of another shape has no id
	return begin.ID
}
