package large

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestLargeOnesTakeTurns: small requests never wait, and large ones wait until their turn or the end of their
// context.
func TestLargeOnesTakeTurns(t *testing.T) {
	all := NewTurns()
	var ends []func()
	for range cap(all) {
		done, err := all.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, done)
	}
	ran := errors.New("ran")
	if err := all.Decode(t.Context(), From-1, func() error { return ran }); err != ran {
		t.Errorf("a small one: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := all.Decode(ctx, From, func() error { return ran }); !errors.Is(err, context.Canceled) {
		t.Errorf("a large one without a turn: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- all.Decode(t.Context(), From, func() error { return ran }) }()
	select {
	case err := <-waited:
		t.Fatalf("a large one did not wait: %v", err)
	default:
	}
	ends[0]()
	if err := <-waited; err != ran {
		t.Errorf("a large one in its turn: %v", err)
	}
}

// TestRead: Read reads everything, whatever length is announced, after the bytes in begun.
func TestRead(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789"), 300_000)
	for _, n := range []int{0, 1, From - 1, From, From + 1, 8 * From, len(whole)} {
		for _, announced := range []int64{-1, 0, 1, From, int64(n) - 1, int64(n), int64(n) + 1, 1 << 40, 1<<63 - 1} {
			for name, r := range map[string]io.Reader{"": bytes.NewReader(whole[:n]),
				"in halves":    iotest.HalfReader(bytes.NewReader(whole[:n])),
				"with its end": iotest.DataErrReader(bytes.NewReader(whole[:n]))} {
				begun := min(n, 100)
				if _, err := io.CopyN(io.Discard, r, int64(begun)); err != nil {
					t.Fatal(err)
				}
				if b, err := Read(bytes.Clone(whole[:begun]), r, announced); err != nil || !bytes.Equal(b, whole[:n]) {
					t.Errorf("%d bytes, announced %d, %s: %d bytes, %v", n, announced, name, len(b), err)
				} else if cap(b) > max(n, firstBuffer) {
					t.Errorf("room for %d of %d bytes", cap(b), n)
				}
			}
		}
	}
	broken := errors.New("broken")
	if b, err := Read(nil, io.MultiReader(bytes.NewReader(whole[:10]), iotest.ErrReader(broken)), 20); err != broken ||
		string(b) != "0123456789" {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestExactly: Exactly reads the requested bytes and no more, within the available room. An earlier end is an error.
func TestExactly(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789"), 300_000)
	for _, n := range []int{0, 1, firstBuffer - 1, firstBuffer, firstBuffer + 1, growth*firstBuffer + 1, len(whole) - 1} {
		for _, room := range [][]byte{nil, make([]byte, 100), make([]byte, len(whole))} {
			r := bytes.NewReader(whole)
			if b, err := Exactly(room[:0], iotest.HalfReader(r), n); err != nil || !bytes.Equal(b, whole[:n]) || r.Len() != len(whole)-n {
				t.Errorf("%d bytes: %d, %v, %d left", n, len(b), err, r.Len())
			}
			if _, err := Exactly(room[:0], bytes.NewReader(whole[:n]), n+1); err != io.ErrUnexpectedEOF {
				t.Errorf("%d of %d bytes: %v", n, n+1, err)
			}
		}
	}
	if b, err := Exactly(nil, bytes.NewReader(whole), 1000); err != nil || cap(b) != 1000 {
		t.Errorf("room for %d of 1000 bytes, %v", cap(b), err)
	}
}
