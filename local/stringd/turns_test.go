package stringd

import (
	"bytes"
	"testing"

	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/wire/large"
)

// TestLargeBodiesTakeTurns: while all turns are in use, a large body waits to be decoded, and a small one does not.
func TestLargeBodiesTakeTurns(t *testing.T) {
	s := &Server{Work: serve.NewWork(nil), large: serve.Large{Turns: make(large.Turns, 1)}}
	s.large.Turns <- struct{}{}
	body := bytes.Join([][]byte{[]byte(`{"cmd":"`), bytes.Repeat([]byte("x"), large.From), []byte(`"}`)}, nil)
	done := make(chan bool)
	go func() {
		_, ok := s.parseObject(body)
		done <- ok
	}()
	for range 100 {
		if _, ok := s.parseObject([]byte(`{"cmd":"/info"}`)); !ok {
			t.Fatal("a small body was not read")
		}
		select {
		case <-done:
			t.Fatal("a large body did not wait")
		default:
		}
	}
	<-s.large.Turns
	if ok := <-done; !ok {
		t.Error("the large body was not read")
	}
	if len(s.large.Turns) != 0 {
		t.Error("a turn was not given back")
	}
}
