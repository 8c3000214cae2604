// Package transcript reads the session files of coding agents, a line at a time: those of Claude Code, and the rollouts
// of Codex. It opens no files. SiftCoder's backfill takes the tools' uses and results from it, and `cairn import` what
// the user and the agent said.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A line of either kind, as far as it matters.
type line struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	UUID      string `json:"uuid"`
	Session   string `json:"sessionId"`
	Meta      bool   `json:"isMeta"` // the client wrote it, in the name of the user
	Message   struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Payload json.RawMessage `json:"payload"` // of a rollout
}

// A Block of a message is a tool's use, or its result.
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
	Tool    string // whose session it is: claude-code or codex; blank for a line of neither
	Session string // blank where the line does not say
	ID      string // of the line, in its session; a rollout's lines have none
	Blocks  []Block
	Role    string // user or assistant, where one of them said something
	Text    string // what they said
}

// ErrBroken reports a line that is not JSON.
var ErrBroken = errors.New("a line that is not JSON")

// Parse reads a line. A line of another role or shape tells nothing, and is not an error.
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
		l.Role, l.Text = rolloutSaid(in.Payload)
	case RolloutBegin:
		l = Line{At: at, Tool: "codex", Session: sessionBegun(in.Payload)}
	case "assistant", "user":
		if len(in.Message.Content) == 0 {
			return l, nil
		}
		l = Line{At: at, Tool: "claude-code", Session: in.Session, ID: in.UUID}
		l.Blocks = blocks(in.Message.Content, map[string]string{"assistant": "tool_use", "user": "tool_result"}[in.Type])
		if !in.Meta {
			l.Role, l.Text = said(in.Type, in.Message.Content)
		}
	}
	return l, nil
}

// blocks returns the blocks of a type in a message's content, which may be a text.
func blocks(content json.RawMessage, want string) (found []Block) {
	var each []json.RawMessage
	if json.Unmarshal(content, &each) != nil {
		return nil
	}
	for _, e := range each {
		var b Block
		if json.Unmarshal(e, &b) == nil && b.Type == want {
			found = append(found, b)
		}
	}
	return found
}

// said returns what a message says in words: its text, or its blocks of text. What clients add in tags, such as the
// environment or a command's output, is left out.
func said(role string, content json.RawMessage) (string, string) {
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
