package standalone

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
)

// newLogger writes one line for each message: date, time, level and text.
func newLogger(w io.Writer, level string) *slog.Logger {
	h := &lineHandler{w: w, level: slog.LevelDebug}
	_ = h.level.UnmarshalText([]byte(level)) // any other text means debug
	return slog.New(h)
}

type lineHandler struct {
	mu    sync.Mutex
	w     io.Writer
	level slog.Level
}

// Enabled implements slog.Handler.
func (l *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle implements slog.Handler.
func (l *lineHandler) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintf(l.w, "%s %-5s %s\n", r.Time.Format("2006/01/02 15:04:05"), r.Level, r.Message)
	return err
}

// WithAttrs implements slog.Handler. It drops the attributes, because the messages contain all data in their text.
func (l *lineHandler) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *lineHandler) WithGroup(string) slog.Handler { return l }
