package syncwriter_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

type syncs struct {
	at  []int
	buf *bytes.Buffer
	err error
}

func (s *syncs) Sync() error {
	s.at = append(s.at, s.buf.Len())
	return s.err
}

// TestWriter: no more than Every bytes of a file are unsynced, and a failed sync fails the write.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	s := &syncs{buf: &out}
	w := &syncwriter.Writer{W: &out, File: s}
	const total, each = 10 << 20, 10_000
	for out.Len() < total {
		if n, err := w.Write(make([]byte, each)); n != each || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	last := 0
	for _, at := range append(s.at, out.Len()) {
		if at-last > 64<<10+each {
			t.Errorf("%d bytes waited", at-last)
		}
		last = at
	}
	if len(s.at) > 160 {
		t.Errorf("%d syncs", len(s.at))
	}
	s.err = errors.New("the disk is broken")
	if _, err := w.Write(make([]byte, 2<<20)); !errors.Is(err, s.err) {
		t.Errorf("got %v", err)
	}
}
