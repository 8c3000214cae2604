package state

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// diskFault is a panic value that carries an error of the store out of operations and views, which cannot handle it.
// Apply and Read recover it and return the error.
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

// damageOf returns the error of a diskFault, and panics again with any other value. The function that recovers calls
// it.
func damageOf(p any) error {
	if d, ok := p.(diskFault); ok {
		return d.err
	}
	panic(p)
}

// faultOf is damageOf for a panic inside an entry. It turns a bug into an error that names the entry: every node
// stops at that entry, and the operator has to know which one it is.
func faultOf(entry *oplog.Outcome, p any) error {
	if _, disk := p.(diskFault); entry == nil || disk {
		return damageOf(p)
	}
	return fmt.Errorf("%w: record %d entry %d: %v in %s", ErrUnapplied, entry.Index, entry.Number, p, panicked())
}

// panicked returns the name of the function that panicked. Call it while recovering.
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
