package cli

import "github.com/schollz/progressbar/v3"

// Progress returns a bar for a number of items that is not known.
func (s *Streams) Progress(what string) *progressbar.ProgressBar {
	return s.bar(what, -1, progressbar.OptionSetSpinnerChangeInterval(0)) // no spinner: its goroutine would race with the caller's updates
}

// Count returns a bar for a number of items, with their rate and the remaining time.
func (s *Streams) Count(what string, total int64) *progressbar.ProgressBar {
	return s.bar(what, total, progressbar.OptionShowIts(), progressbar.OptionSetItsString(what), progressbar.OptionSetPredictTime(true))
}

// Bytes returns a bar for a number of bytes, with their rate and the remaining time.
func (s *Streams) Bytes(what string, total int64) *progressbar.ProgressBar {
	return s.bar(what, total, progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true))
}

// bar returns a bar that is visible only if stderr is a terminal.
func (s *Streams) bar(what string, total int64, more ...progressbar.Option) *progressbar.ProgressBar {
	options := []progressbar.Option{progressbar.OptionSetVisibility(false)}
	if IsTerminal(s.Err) {
		options = []progressbar.Option{progressbar.OptionSetWriter(Raw(s.Err)), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish()}
	}
	return progressbar.NewOptions64(total, append(options, more...)...)
}
