package cli

import (
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is a bar on a terminal and silence elsewhere.
func (s *Streams) Progress(what string) *progressbar.ProgressBar {
	still := progressbar.OptionSetSpinnerChangeInterval(0) // a bar that moves by itself is drawn by two goroutines at once
	f, ok := s.Err.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return progressbar.NewOptions(-1, progressbar.OptionSetVisibility(false), still)
	}
	return progressbar.NewOptions(-1, progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), still)
}

// Count is a bar of so many things, with their rate and the time that is left, on a terminal and silence elsewhere.
func (s *Streams) Count(what string, total int64) *progressbar.ProgressBar {
	if !IsTerminal(s.Err) {
		return progressbar.NewOptions64(total, progressbar.OptionSetVisibility(false))
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(s.Err), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), progressbar.OptionSetItsString(what), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
}

// Bytes is a bar of so many bytes, with their rate and the time that is left, on a terminal and silence elsewhere.
func (s *Streams) Bytes(what string, total int64) *progressbar.ProgressBar {
	if !IsTerminal(s.Err) {
		return progressbar.NewOptions64(total, progressbar.OptionSetVisibility(false))
	}
	return progressbar.NewOptions64(total, progressbar.OptionSetWriter(s.Err), progressbar.OptionSetDescription(what), progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())
}
