package raft

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// newLogger carries the library's log lines onto slog.
func newLogger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: hclog.Off})
	l.RegisterSink(sink{to})
	return l
}

type sink struct{ to *slog.Logger }

// levels: the library's own notion of what matters is a level louder than an operator's. Lines of other levels are
// dropped.
var levels = map[hclog.Level]slog.Level{hclog.Info: slog.LevelDebug, hclog.Warn: slog.LevelInfo, hclog.Error: slog.LevelWarn}

// ofAbsence are the lines that come several times a second while a member is away: noteReach says once that it is.
var ofAbsence = map[string]bool{"failed to contact": true, "failed to heartbeat to": true,
	"failed to appendEntries to": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true}

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	to, ok := levels[level]
	if !ok {
		return
	}
	if ofAbsence[msg] {
		to = slog.LevelDebug
	}
	s.to.Log(context.Background(), to, msg, args...)
}
