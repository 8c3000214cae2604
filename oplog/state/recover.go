package state

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// diskFault carries an error of the store out of operations and views, as a panic: they decide what happens to memory
// and have nothing to say about disks. Apply and Read return it.
type diskFault struct{ err error }

// recoverDamage runs a function that reads the store, and returns a diskFault as an error.
func recoverDamage(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damageOf(p)
		}
	}()
	return f()
}

// damageOf is the error of a diskFault; any other panic goes on. It is called by the function that recovers.
func damageOf(p any) error {
	if d, ok := p.(diskFault); ok {
		return d.err
	}
	panic(p)
}

// faultOf is damageOf for a panic inside an entry: a bug there is an error that names the entry, for every node stops
// at it, and an operator has to know which it is. It is called by the function that recovers.
func faultOf(entry *oplog.Outcome, p any) error {
	if _, disk := p.(diskFault); entry == nil || disk {
		return damageOf(p)
	}
	return fmt.Errorf("%w: record %d entry %d: %v in %s", ErrUnapplied, entry.Index, entry.Number, p, panicked())
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
