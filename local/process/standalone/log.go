package standalone

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// newLogger writes lines of a date, a time, a level and a message.
func newLogger(w io.Writer, level string) *slog.Logger {
	h := &lines{w: w, level: slog.LevelDebug}
	_ = h.level.UnmarshalText([]byte(level)) // anything unknown is debug
	return slog.New(h)
}

type lines struct {
	mu    sync.Mutex
	w     io.Writer
	level slog.Level
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.w, "%s %-5s %s\n", r.Time.Format("2006/01/02 15:04:05"), r.Level, r.Message)
	return err
}

// WithAttrs implements slog.Handler; messages carry everything in their text.
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(string) slog.Handler { return l }
