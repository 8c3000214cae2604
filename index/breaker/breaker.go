// Package breaker keeps callers from waiting for a service that fails or is too slow.
package breaker

import (
	"errors"
	"sync"
	"time"
)

// When a breaker opens, and for how long.
const (
	Failures = 3               // in a row, after which
	Rest     = 3 * time.Second // calls with deadlines no longer than the missed ones are refused for this long; then one call tries
)

// ErrResting is returned instead of calling a service that failed lately.
var ErrResting = errors.New("failed or was too slow lately; it is tried again in a moment")

const forever = time.Duration(1<<63 - 1)

// A Breaker protects the callers of one service. After some failures in a row it rejects callers whose deadlines are
// no longer than those that were missed. So a service that is too slow for some callers still serves more patient
// ones. The zero value is closed.
type Breaker struct {
	mu            sync.Mutex
	failures      int           // in a row
	longestMissed time.Duration // the longest deadline missed in the current row of failures; forever after an error
	openUntil     time.Time     // calls are rejected before it
	probing       bool          // one call is trying whether the service works again
	state         State
}

// State is a service's health.
type State struct {
	Down      bool      // the last call was not answered
	Failures  uint64    // calls that failed, since the start
	LastError string    // of the newest failure; it holds no text
	ErrorAt   time.Time // zero: none failed
}

// State returns the service's health.
func (b *Breaker) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// Admit rejects a caller that would probably wait in vain. probe says that the caller is the one that tries the
// service after a rest. An admitted caller calls Note afterwards.
func (b *Breaker) Admit(timeout time.Duration) (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < Failures || timeout > b.longestMissed {
		return false, nil
	}
	if b.probing || time.Now().Before(b.openUntil) {
		return false, ErrResting
	}
	b.probing = true
	return true, nil
}

// Note records the result of a call and how long it took. late says that the call missed its deadline.
func (b *Breaker) Note(probe bool, err error, timeout time.Duration, late bool, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	if err == nil {
		b.state.Down = false
		if probe || took < b.longestMissed {
			b.failures, b.longestMissed = 0, 0
		}
		return
	}
	b.state.Down, b.state.LastError, b.state.ErrorAt = true, err.Error(), time.Now()
	b.state.Failures++
	b.failures++
	if late {
		b.longestMissed = max(b.longestMissed, timeout)
	} else {
		b.longestMissed = forever
	}
	if b.failures >= Failures {
		b.openUntil = time.Now().Add(Rest)
	}
}
