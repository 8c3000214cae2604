// Package spread divides work that needs no order among the processors.
package spread

import (
	"runtime"
	"sync"
)

// Over does a piece of work from 0 to n in stretches of at least so many, as many at a time as there are processors,
// and returns when all is done. A panic is the caller's to catch where it happens.
func Over(n, least int, do func(from, to int)) {
	stretches := max(1, min(runtime.GOMAXPROCS(0), n/least))
	var wg sync.WaitGroup
	for i := 1; i < stretches; i++ {
		wg.Go(func() { do(i*n/stretches, (i+1)*n/stretches) })
	}
	do(0, n/stretches)
	wg.Wait()
}
