package main

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// freeRow finds n free ports in a row, below the range from which the system gives outgoing connections theirs: nothing
// takes them between now and their use but another's unlucky choice.
func freeRow(n int) (base int, err error) {
	for range 200 {
		base = 10_000 + rand.IntN(20_000)
		if err = allFree(base, n); err == nil {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row: %w", n, err)
}

func allFree(base, n int) error {
	for p := base; p < base+n; p++ {
		ln, err := net.Listen("tcp", loopback(p))
		if err != nil {
			return err
		}
		ln.Close()
	}
	return nil
}
