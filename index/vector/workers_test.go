package vector

import "testing"

// TestBeside: RunBoth runs two functions in parallel if the pool has a goroutine, otherwise in sequence, and returns
// the goroutine even after a panic.
func TestBeside(t *testing.T) {
	p := make(Pool, 1)
	a, b := make(chan struct{}), make(chan struct{})
	p.RunBoth(func() { close(a); <-b }, func() { <-a; close(b) }) // neither ends before the other has begun
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		p.RunBoth(func() {}, func() { panic("here") })
	}()
	if len(p) != 0 {
		t.Fatalf("%d goroutines are lent", len(p))
	}
	p <- struct{}{}
	var order string
	p.RunBoth(func() { order += "aside " }, func() { order += "here" })
	if order != "aside here" || len(p) != 1 {
		t.Errorf("%q, %d lent", order, len(p))
	}
}
