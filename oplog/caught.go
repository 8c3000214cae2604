package oplog

import (
	"fmt"
	"runtime"
	"strings"
)

// diskError carries a failed write out of the handlers to Apply, which gives it to its caller: handlers
// decide what happens to memory and have nothing to say about disks.
type diskError struct{ err error }

// caught runs what may meet a damaged file.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = met(p)
		}
	}()
	return f()
}

// met is what a panic says of a disk or of a damaged file: ours, or bbolt's, which panics where a page is not what it should be.
// It is called by the function that recovers.
func met(p any) error {
	if d, ok := p.(diskError); ok {
		return d.err
	}
	if strings.HasPrefix(panicked(), "go.etcd.io/bbolt") {
		return fmt.Errorf("%w: bbolt: %v", ErrState, p)
	}
	panic(p)
}

// metIn is met for what an entry does: a fault of ours there is an error that names the entry, for every node stops at it, and
// an operator has to know which it is. It is called by the function that recovers.
func metIn(entry string, p any) error {
	_, disk := p.(diskError)
	if at := panicked(); entry != "" && !disk && !strings.HasPrefix(at, "go.etcd.io/bbolt") {
		return fmt.Errorf("%w: %s: %v in %s", ErrUnapplied, entry, p, at)
	}
	return met(p)
}

// panicked is the function in which the panic that is being recovered from began.
func panicked() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for under := false; ; {
		f, more := frames.Next()
		if under && !strings.HasPrefix(f.Function, "runtime.") {
			return f.Function
		}
		under = under || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
