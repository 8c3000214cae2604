package vector

import "testing"

// TestBeside: with a goroutine to lend two functions run at the same time, without one in turn, and the goroutine comes
// back even from a panic.
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
