package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cairndb/cairn/oplog/suite"
)

var big = Format{Max: 1 << 20}

// framed returns a stream with the frames of the bodies.
func framed(t *testing.T, bodies ...string) []byte {
	var b bytes.Buffer
	for _, body := range bodies {
		if err := big.Write(&b, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestFramesTornAtEveryByte(t *testing.T) {
	body := []byte(`{"kind":"ping","text":"größer"}`)
	whole := framed(t, string(body))
	for cut := range len(whole) + 1 {
		r := io.MultiReader(bytes.NewReader(whole[:cut]), bytes.NewReader(whole[cut:]))
		if got, err := big.Read(r, nil); err != nil || !bytes.Equal(got, body) {
			t.Errorf("cut at %d: %q, %v", cut, got, err)
		}
		_, err := big.Read(bytes.NewReader(whole[:cut]), nil)
		switch {
		case cut == 0 && err != io.EOF,
			cut > 0 && cut < len(whole) && err != io.ErrUnexpectedEOF,
			cut == len(whole) && err != nil:
			t.Errorf("ended at %d: %v", cut, err)
		}
	}
}

func TestReadLeavesTheNextFrame(t *testing.T) {
	r := bytes.NewReader(framed(t, "first", "", "third"))
	for _, want := range []string{"first", "", "third"} {
		if got, err := big.Read(r, nil); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if _, err := big.Read(r, nil); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
}

func TestLimits(t *testing.T) {
	f := Format{Max: 100}
	full := bytes.Repeat([]byte("x"), 100)
	var b bytes.Buffer
	if err := f.Write(&b, full); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Read(&b, nil); err != nil || !bytes.Equal(got, full) {
		t.Errorf("a full frame: %d bytes, %v", len(got), err)
	}
	if err := f.Write(&b, append(full, 'x')); err == nil || err.Error() != "frame too large: 101 > 100" {
		t.Errorf("one byte too many to write: %v", err)
	}
	for _, n := range []uint32{101, 0xFFFFFFFF} {
		head := make([]byte, 4)
		binary.BigEndian.PutUint32(head, n)
		// The reader fails the test after four bytes, because no body may be read after a rejected length.
		_, err := f.Read(io.MultiReader(bytes.NewReader(head), iotest.ErrReader(errors.New("read on"))), nil)
		var large *TooLarge
		if !errors.As(err, &large) || large.Len != uint64(n) {
			t.Errorf("length %d: %v", n, err)
		}
	}
}

func TestRoomFollowsTheBytes(t *testing.T) {
	suite.Full(t)
	f := Format{Max: 1 << 30}
	head := binary.BigEndian.AppendUint32(nil, 1<<30)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := f.Read(io.MultiReader(bytes.NewReader(head), strings.NewReader("ten bytes.")), nil); err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("ten bytes of a gibibyte made %d bytes of room", got)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, '{'})
	f.Add([]byte{0, 0, 0, 9, '{', '}'})
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := big.Read(bytes.NewReader(in), nil)
		torn, tornErr := big.Read(iotest.OneByteReader(bytes.NewReader(in)), make([]byte, 0, 3))
		if (err == nil) != (tornErr == nil) || !bytes.Equal(whole, torn) {
			t.Fatalf("whole: %q, %v; byte by byte: %q, %v", whole, err, torn, tornErr)
		}
		if err != nil {
			return
		}
		if !bytes.HasPrefix(in, framed(t, string(whole))) {
			t.Fatalf("%q does not survive a round trip", whole)
		}
	})
}
