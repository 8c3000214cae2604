package index

import "github.com/cairndb/cairn/oplog"

// leaveOutLapsed finds the rows of memories whose time is over. There are few: the leader's sweep follows within a
// second or so.
func (in *question) leaveOutLapsed() {
	in.view.Lapsed(in.db, func(seq oplog.Seq) bool {
		if row, ok := in.d.rowOf(seq); ok {
			if in.lapsed == nil {
				in.lapsed, in.all = map[uint32]bool{}, false
			}
			in.lapsed[row] = true
		}
		return true
	})
}
