package cli

import "github.com/schollz/progressbar/v3"

// Progress is a bar of things whose number is not known.
func (s *Streams) Progress(what string) *progressbar.ProgressBar {
	return s.bar(what, -1, progressbar.OptionSetSpinnerChangeInterval(0)) // a bar that moves by itself is drawn by two goroutines at once
}

// Count is a bar of so many things, with their rate and the time that is left.
func (s *Streams) Count(what string, total int64) *progressbar.ProgressBar {
	return s.bar(what, total, progressbar.OptionShowIts(), progressbar.OptionSetItsString(what), progressbar.OptionSetPredictTime(true))
}

// Bytes is a bar of so many bytes, with their rate and the time that is left.
func (s *Streams) Bytes(what string, total int64) *progressbar.ProgressBar {
	return s.bar(what, total, progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true))
}

// bar is a bar on a terminal and silence elsewhere.
func (s *Streams) bar(what string, total int64, more ...progressbar.Option) *progressbar.ProgressBar {
	options := []progressbar.Option{progressbar.OptionSetVisibility(false)}
	if IsTerminal(s.Err) {
		options = []progressbar.Option{progressbar.OptionSetWriter(Raw(s.Err)), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish()}
	}
	return progressbar.NewOptions64(total, append(options, more...)...)
}
