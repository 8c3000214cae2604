package commit

import "testing"

// TestARecordFitsAFrame: entries share a record as long as it stays short enough to be sent; the one too many begins the next.
func TestARecordFitsAFrame(t *testing.T) {
	t.Parallel()
	p := newProposer(nil, nil, nil)
	for _, n := range []int{maxRecordBytes - 1, 10 << 20, 1} {
		p.queue <- proposal{body: make([]byte, n)}
	}
	for _, want := range []int{maxRecordBytes - 1, 10 << 20, 1} {
		var b batch
		if !p.begin(t.Context(), &b) {
			t.Fatal("no entry")
		}
		if p.gather(&b); b.size != want {
			t.Errorf("a record of %d bytes, want %d", b.size, want)
		}
	}
}
