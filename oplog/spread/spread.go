// Package spread divides work that needs no order among the processors.
package spread

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Over does a piece of work from 0 to n in stretches of at least so many, as many at a time as there are processors,
// and returns when all is done. What panics in a stretch panics in the caller then, who may recover: in a goroutine
// of its own it would end the process.
func Over(n, least int, do func(from, to int)) {
	stretches := max(1, min(runtime.GOMAXPROCS(0), n/least))
	var wg sync.WaitGroup
	var panicked atomic.Pointer[any]
	for i := 1; i < stretches; i++ {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.Store(&p)
				}
			}()
			do(i*n/stretches, (i+1)*n/stretches)
		})
	}
	defer func() {
		wg.Wait()
		if p := panicked.Load(); p != nil {
			panic(*p)
		}
	}()
	do(0, n/stretches)
}
