package index

import (
	"github.com/cairndb/cairn/index/rank"
)

// Row implements rank.Corpus.
func (in *question) Row(row uint32) *rank.Row { return &in.cols.at(row).Row }

// Place implements rank.Corpus.
func (in *question) Place(row uint32) int { return int(in.cols.at(row).place) }

// Worth implements rank.Corpus.
func (in *question) Worth(row uint32) (accessed int64, halfLife, importance float64) {
	c := in.cols.at(row)
	if w := c.now.Load(); w != nil {
		return w.accessed, w.halfLife, w.importance
	}
	return c.Accessed, c.HalfLife, c.Row.Importance
}

// Session implements rank.Corpus.
func (in *question) Session(session uint32) []uint32 { return *in.sessions[session].rows.Load() }

// Sessions implements rank.Corpus.
func (in *question) Sessions() (int, float64) {
	if !in.known || in.named.sessions == 0 {
		return 0, 0
	}
	return int(in.named.sessions), float64(in.named.tokens) / float64(in.named.sessions)
}

// SessionLength implements rank.Corpus.
func (in *question) SessionLength(session uint32) float64 {
	return float64(in.sessions[session].tokens.Load())
}
