package vector

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	parallelRows = 50_000 // from here several goroutines scan
	maxWorkers   = 4
	stride       = 32 // blocks a goroutine takes at a time
)

// A Pool lends goroutines to scans, so that many searches at once do not multiply them.
type Pool chan struct{}

// NewPool lends as many goroutines as there are processors.
func NewPool() Pool { return make(Pool, runtime.GOMAXPROCS(0)) }

// A crew is the goroutines of one search, the caller's own included.
type crew struct {
	pool Pool
	size int
}

// hire borrows what the pool has when there is much to do.
func hire(pool Pool, rows int) crew {
	c := crew{pool, 1}
	if rows < parallelRows {
		return c
	}
	for c.size < maxWorkers {
		select {
		case pool <- struct{}{}:
			c.size++
		default:
			return c
		}
	}
	return c
}

func (c crew) dismiss() {
	for range c.size - 1 {
		<-c.pool
	}
}

// each has all blocks worked on, some at a time. Who takes which is chance: it must not show in what they find.
func (c crew) each(blocks int, work func(worker, from, to int)) {
	var next atomic.Int64
	take := func(worker int) {
		for {
			to := int(next.Add(stride))
			if to-stride >= blocks {
				return
			}
			work(worker, to-stride, min(to, blocks))
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < c.size; w++ {
		wg.Go(func() { take(w) })
	}
	take(0)
	wg.Wait()
}
