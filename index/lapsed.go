package index

import "github.com/cairndb/cairn/oplog"

// excludeExpired finds the rows of expired memories. There are few: the leader's sweep removes them within about a
// second.
func (in *question) excludeExpired() {
	in.view.Unswept(in.db, func(seq oplog.Seq) bool {
		if row, ok := in.d.rowOf(seq); ok {
			if in.expired == nil {
				in.expired, in.all = map[uint32]bool{}, false
			}
			in.expired[row] = true
		}
		return true
	})
}
