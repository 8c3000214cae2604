package config

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Loopback is a port of this machine alone.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// FreeRow finds n free ports in a row, below the range from which the system gives outgoing connections theirs: nothing
// takes them between now and their use but another's unlucky choice. Browsers refuse to open 10080, which was another service's once.
func FreeRow(n int) (base int, err error) {
	for range 200 {
		base = 10_100 + rand.IntN(19_900)
		if err = allFree(base, n); err == nil {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row: %w", n, err)
}

func allFree(base, n int) error {
	for p := base; p < base+n; p++ {
		ln, err := net.Listen("tcp", Loopback(p))
		if err != nil {
			return err
		}
		ln.Close()
	}
	return nil
}
