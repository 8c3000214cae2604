package raft

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newLogger carries the library's log lines onto slog: it writes them as JSON, one a write, and this reads them.
func newLogger(to *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Info, JSONFormat: true, Output: lines{to}})
}

type lines struct{ to *slog.Logger }

var levels = map[string]slog.Level{"trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelDebug,
	"warn": slog.LevelInfo, "error": slog.LevelWarn}

// ofAbsence are the lines that come several times a second while a member is away: noteReach says once that it is.
var ofAbsence = map[string]bool{"failed to contact": true, "failed to heartbeat to": true, "failed to appendEntries to": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true}

// Write takes one JSON line. The library's own notion of what matters is a level louder than an operator's.
func (l lines) Write(p []byte) (int, error) {
	var line map[string]any
	if json.Unmarshal(bytes.TrimSpace(p), &line) != nil {
		return len(p), nil
	}
	level, _ := line["@level"].(string)
	msg, _ := line["@message"].(string)
	to := levels[level]
	if ofAbsence[msg] {
		to = slog.LevelDebug
	}
	attrs := make([]any, 0, 2*len(line))
	for k, v := range line {
		if k[0] != '@' {
			attrs = append(attrs, k, v)
		}
	}
	l.to.Log(context.Background(), to, msg, attrs...)
	return len(p), nil
}
