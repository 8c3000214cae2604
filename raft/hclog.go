package raft

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newLogger returns a logger that sends the library's log lines to slog.
func newLogger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off})
	l.RegisterSink(sink{to})
	return l
}

type sink struct{ to *slog.Logger }

// levels maps the library's levels one level down, because its lines matter less to an operator than the library
// assumes. Lines of other levels are dropped.
var levels = map[hclog.Level]slog.Level{hclog.Info: slog.LevelDebug, hclog.Warn: slog.LevelInfo, hclog.Error: slog.LevelWarn}

// unreachableMessages are lines that the library logs several times a second while a member is unreachable.
// logReachability logs that once.
var unreachableMessages = map[string]bool{"failed to contact": true, "failed to heartbeat to": true,
	"failed to appendEntries to": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true}

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	to, ok := levels[level]
	if !ok {
		return
	}
	if unreachableMessages[msg] {
		to = slog.LevelDebug
	}
	s.to.Log(context.Background(), to, msg, args...)
}
