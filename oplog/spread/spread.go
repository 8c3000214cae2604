// Package spread divides work that needs no order among the processors.
package spread

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Over calls do with ranges that cover 0 to n, each of at least least elements, on all processors, and returns when
// all calls are done. If a call panics, Over panics in the caller, who may recover; a panic in its own goroutine
// would end the process.
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
