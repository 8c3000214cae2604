package logstore

import (
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
)

// TestHowLongAndOldALogIs: SizeAfter returns the bytes after a record and the time of the first one, and NewestWithin
// returns the number of newest records within a size and since a time, by whole segments.
func TestHowLongAndOldALogIs(t *testing.T) {
	t.Parallel()
	log, err := Open(t.TempDir(), Options{FS: OS{NoSync: true}, SegmentBytes: 4 << 10})
	must(t, err)
	defer log.Close()
	begun := time.Unix(1_700_000_000, 0)
	at := func(i uint64) time.Time { return begun.Add(time.Duration(i) * time.Minute) }
	const last = 100
	for i := uint64(1); i <= last; i++ {
		l := &hraft.Log{Index: i, Term: 1, Data: make([]byte, 200), AppendedAt: at(i)}
		if i == 1 {
			l.AppendedAt = time.Time{} // as in the founding record
		}
		must(t, log.StoreLogs([]*hraft.Log{l}))
	}
	all, oldest := log.SizeAfter(0)
	if all < last*200 || !oldest.Equal(at(2)) {
		t.Errorf("the log has %d bytes, the oldest of %v", all, oldest)
	}
	if half, oldest := log.SizeAfter(last / 2); half > all*2/3 || half < all/3 || !oldest.Equal(at(last/2+1)) {
		t.Errorf("half of it has %d bytes of %d, the oldest of %v", half, all, oldest)
	}
	if none, oldest := log.SizeAfter(last); none != 0 || !oldest.IsZero() {
		t.Errorf("behind its end are %d bytes, of %v", none, oldest)
	}
	if n := log.NewestWithin(all, time.Time{}); n != last {
		t.Errorf("within all bytes are %d records", n)
	}
	if n := log.NewestWithin(all/2, time.Time{}); n < last/4 || n > last/2 {
		t.Errorf("within half of the bytes are %d records", n)
	}
	if n := log.NewestWithin(all, at(last-10)); n < 10 || n > 40 {
		t.Errorf("of the last ten minutes are %d records, want ten and their segment's", n)
	}
}
