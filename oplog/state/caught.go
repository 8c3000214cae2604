package state

import (
	"fmt"
	"runtime"
	"strings"
)

// diskError carries a failed write out of the handlers to Apply, which gives it to its caller: handlers
// decide what happens to memory and have nothing to say about disks.
type diskError struct{ err error }

// caught runs what may meet damage.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = met(p)
		}
	}()
	return f()
}

// met is what a panic says of a disk or of damage. It is called by the function that recovers.
func met(p any) error {
	if d, ok := p.(diskError); ok {
		return d.err
	}
	panic(p)
}

// metIn is met for what an entry does: a fault of ours there is an error that names the entry, for every node stops at it, and
// an operator has to know which it is. It is called by the function that recovers.
func metIn(entry string, p any) error {
	if _, disk := p.(diskError); entry == "" || disk {
		return met(p)
	}
	return fmt.Errorf("%w: %s: %v in %s", ErrUnapplied, entry, p, panicked())
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
