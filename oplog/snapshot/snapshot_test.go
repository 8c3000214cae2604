package snapshot_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// rows returns a stream of rows; reads returns the result of Read.
func rows(t *testing.T, list []string) []byte {
	var b bytes.Buffer
	err := snapshot.Write(&b, 10, func(row func(k, v []byte) error) error {
		for _, k := range list {
			if err := row([]byte(k), []byte("value of "+k)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reads(stream []byte) (list []string, err error) {
	err = snapshot.Read(bytes.NewReader(stream), nil, func(k, v []byte) error {
		if string(v) != "value of "+string(k) {
			return fmt.Errorf("%s has %q", k, v)
		}
		list = append(list, string(k))
		return nil
	})
	return list, err
}

// records returns a log range; readsRange returns the result of ReadRange.
func records(t *testing.T, head snapshot.Head, n int) []byte {
	var b bytes.Buffer
	err := snapshot.WriteRange(&b, head, func(record func(oplog.Index, oplog.HLC, []byte) error) error {
		for i := range n {
			if err := record(head.Since+oplog.Index(i)+1, oplog.MakeHLC(uint64(i), 0, 1), fmt.Append(nil, "record ", i)); err != nil {
				return err
			}
		}
		return nil
	}, func(row func(k, v []byte) error) error { return row([]byte("a key"), []byte("a value")) })
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readsRange(stream []byte) (head snapshot.Head, n int, err error) {
	r, err := snapshot.ReadRange(bytes.NewReader(stream))
	if err != nil {
		return head, 0, err
	}
	defer r.Close()
	for {
		rec, at, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return head, n, err
		}
		if want := fmt.Sprint("record ", n); string(rec.Data) != want || rec.Index != r.Since+oplog.Index(n)+1 || at != oplog.Time(n*1000) {
			return head, n, fmt.Errorf("record %d at %d is %q", rec.Index, at, rec.Data)
		}
		n++
	}
	if k, v, err := r.Row(); err != nil || string(k) != "a key" || string(v) != "a value" {
		return head, n, cmp.Or(err, fmt.Errorf("row %q is %q", k, v))
	}
	if _, _, err := r.Row(); err != io.EOF {
		return head, n, cmp.Or(err, errors.New("a row too many"))
	}
	return r.Head, n, nil
}

// TestStreams: written streams can be read. A stream that is truncated, continues after its end, or has a flipped bit
// is an error that names the kind of stream.
func TestStreams(t *testing.T) {
	list := []string{"a", "ab", "b"}
	whole := rows(t, list)
	if got, err := reads(whole); err != nil || !slices.Equal(got, list) {
		t.Fatalf("%v, %v", got, err)
	}
	head := snapshot.Head{Since: 7, Index: 10, Term: 2, Hash: [32]byte{1, 2, 3}}
	log := records(t, head, 3)
	if got, n, err := readsRange(log); err != nil || got != head || n != 3 {
		t.Fatalf("%+v, %d records, %v", got, n, err)
	}
	damaged := func(stream []byte, read func([]byte) error, want error) {
		t.Helper()
		for i := range stream {
			if err := read(stream[:i]); !errors.Is(err, want) {
				t.Errorf("%d of %d bytes: %v", i, len(stream), err)
			}
			for bit := range 8 {
				flipped := bytes.Clone(stream)
				flipped[i] ^= 1 << bit
				if err := read(flipped); err != nil && !errors.Is(err, want) {
					t.Errorf("bit %d of byte %d: %v", bit, i, err)
				}
			}
		}
	}
	damaged(whole, func(b []byte) error {
		got, err := reads(b)
		if err == nil && !slices.Equal(got, list) {
			t.Errorf("it was read as %v", got)
		}
		return err
	}, snapshot.ErrUnreadable)
	damaged(log, func(b []byte) error {
		got, n, err := readsRange(b)
		if err == nil && (got != head || n != 3) {
			t.Errorf("it was read as %+v with %d records", got, n)
		}
		return err
	}, snapshot.ErrRange)
}

// TestVersions: the error for another version says what to do.
func TestVersions(t *testing.T) {
	stream := rows(t, nil)
	for _, version := range []byte{snapshot.Min - 1, snapshot.Max + 1} {
		stream[len("CAIRNSNP")] = version
		if _, err := reads(stream); !errors.Is(err, snapshot.ErrUnreadable) ||
			!bytes.Contains([]byte(err.Error()), []byte("the version that wrote it")) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
