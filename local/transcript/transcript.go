// Package transcript parses the session files of coding agents line by line: the transcripts of Claude Code and the
// rollouts of Codex. It opens no files. The backfill of package sift uses the tool calls and their results, and
// `cairn import` uses the messages of the user and the agent.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// line holds the fields of a line of either format that are used.
type line struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	UUID      string `json:"uuid"`
	Session   string `json:"sessionId"`
	Meta      bool   `json:"isMeta"` // written by the client in the user's name
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Payload json.RawMessage `json:"payload"` // of a rollout
}

// A Block is a tool call or its result, as a part of a message.
type Block struct {
	Type      string          `json:"type"` // tool_use or tool_result
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// A Line is the content of one line of a session.
type Line struct {
	At      time.Time
	Tool    string // claude-code or codex; empty for any other line
	Session string // empty if the line has none
	ID      string // of the line in its session; empty in a rollout
	Blocks  []Block
	Role    string // of a message: user or assistant
	Text    string // of the message
}

// ErrBroken reports a line that is not JSON.
var ErrBroken = errors.New("a line that is not JSON")

// Parse parses a line. For a line of another type or shape it returns an empty Line and no error.
func Parse(raw []byte) (l Line, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return l, nil
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	var in line
	if json.Unmarshal(raw, &in) != nil {
		if !json.Valid(raw) {
			err = ErrBroken
		}
		return l, err
	}
	at, failed := time.Parse(time.RFC3339, in.Timestamp)
	if failed != nil || at.UnixMilli() < 0 {
		return l, nil
	}
	switch in.Type {
	case rolloutItem:
		l = Line{At: at, Tool: "codex", Blocks: rolloutBlocks(in.Payload)}
		l.Role, l.Text = rolloutMessage(in.Payload)
	case RolloutMeta:
		l = Line{At: at, Tool: "codex", Session: beginSessionID(in.Payload)}
	case "assistant", "user":
		if len(in.Message.Content) == 0 {
			return l, nil
		}
		l = Line{At: at, Tool: "claude-code", Session: in.Session, ID: in.UUID}
		l.Blocks = blocks(in.Message.Content, map[string]string{"assistant": "tool_use", "user": "tool_result"}[in.Type])
		if !in.Meta {
			l.Role, l.Text = messageText(in.Type, in.Message.Content)
		}
	}
	return l, nil
}

// blocks returns the blocks of a type in the content of a message. Content that is plain text has no blocks.
func blocks(content json.RawMessage, want string) (found []Block) {
	var items []json.RawMessage
	if json.Unmarshal(content, &items) != nil {
		return nil
	}
	for _, e := range items {
		var b Block
		if json.Unmarshal(e, &b) == nil && b.Type == want {
			found = append(found, b)
		}
	}
	return found
}

// messageText returns the text of a message: its plain text, or its text blocks joined. It skips texts in tags, which
// clients add, such as the environment or the output of a command.
func messageText(role string, content json.RawMessage) (string, string) {
	var texts []string
	var one string
	var many []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &one) == nil {
		texts = []string{one}
	} else if json.Unmarshal(content, &many) == nil {
		for _, b := range many {
			if b.Type == "text" || b.Type == "input_text" || b.Type == "output_text" {
				texts = append(texts, b.Text)
			}
		}
	}
	var kept []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" && !strings.HasPrefix(t, "<") {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return "", ""
	}
	return role, strings.Join(kept, "\n")
}
