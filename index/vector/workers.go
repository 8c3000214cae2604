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

// RunBoth runs two functions at the same time, the first on a goroutine of the pool, or one after the other if none
// is free. It returns when both have ended, also if one of them panics.
func (p Pool) RunBoth(pooled, inline func()) {
	select {
	case p <- struct{}{}:
	default:
		pooled()
		inline()
		return
	}
	var wg sync.WaitGroup
	defer func() {
		wg.Wait()
		<-p
	}()
	wg.Go(pooled)
	inline()
}

// workers are the goroutines of one search, the caller's own included. stop gives the others back to the pool.
type workers struct {
	pool Pool
	size int
}

// startWorkers borrows goroutines from the pool, as many as are free, when there are enough rows to share out.
func startWorkers(pool Pool, rows int) workers {
	ws := workers{pool, 1}
	if rows < parallelRows {
		return ws
	}
	for ws.size < maxWorkers {
		select {
		case pool <- struct{}{}:
			ws.size++
		default:
			return ws
		}
	}
	return ws
}

func (ws workers) stop() {
	for range ws.size - 1 {
		<-ws.pool
	}
}

// each runs work over all blocks, a stride at a time. Which worker takes which stride is chance, so results must not
// depend on it.
func (ws workers) each(blocks int, work func(worker, from, to int)) {
	var next atomic.Int64
	run := func(worker int) {
		for {
			to := int(next.Add(stride))
			if to-stride >= blocks {
				return
			}
			work(worker, to-stride, min(to, blocks))
		}
	}
	var wg sync.WaitGroup
	for w := 1; w < ws.size; w++ {
		wg.Go(func() { run(w) })
	}
	run(0)
	wg.Wait()
}
