package index

import (
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
)

// Row implements rank.Corpus.
func (in *question) Row(row uint32) *rank.Row { return &in.cols.at(row).Row }

// Number implements rank.Corpus.
func (in *question) Number(row uint32) uint64 { return uint64(in.cols.at(row).seq) }

// RowOf implements rank.Corpus.
func (in *question) RowOf(number uint64) (row uint32, ok bool) { return in.d.rowOf(oplog.Seq(number)) }

// Worth implements rank.Corpus.
func (in *question) Worth(row uint32) (accessed int64, halfLife, importance float64) {
	c := in.cols.at(row)
	if w := c.now.Load(); w != nil {
		return w.accessed, w.halfLife, w.importance
	}
	return c.Accessed, c.HalfLife, c.Row.Importance
}

// Session implements rank.Corpus.
func (in *question) Session(session uint32) []uint64 { return *in.sessions[session].members.Load() }

// Sessions implements rank.Corpus.
func (in *question) Sessions() (int, float64) {
	if !in.hasRows || in.totals.sessions == 0 {
		return 0, 0
	}
	return int(in.totals.sessions), float64(in.totals.tokens) / float64(in.totals.sessions)
}

// SessionLength implements rank.Corpus.
func (in *question) SessionLength(session uint32) float64 {
	return float64(in.sessions[session].tokens.Load())
}
