//go:build unix

package accept

import (
	"math"
	"syscall"
)

// descriptors returns the number of file descriptors that this process may open; 0 if unknown.
func descriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur), math.MaxInt32))
}
