// Package guard turns panics into errors.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrPanic is the error that replaces a panic. The log has what caused it.
var ErrPanic = errors.New("internal error in the host; see its log")

// Log is where panics are logged.
type Log interface {
	Error(text string, args ...any)
}

// Recover recovers from a panic of the function that defers it, logs the panic, and sets err to ErrPanic. What was done with untrusted
// input then fails, and not the whole process. It does nothing if there is no panic.
func Recover(log Log, doing string, err *error) {
	if fault := recover(); fault != nil {
		*err = Recovered(log, doing, fault)
	}
}

// Recovered logs a panic that its caller has recovered, with pairs of a key and a value, and returns ErrPanic.
func Recovered(log Log, doing string, fault any, pairs ...any) error {
	log.Error("panic "+doing, append(pairs, "panic", fmt.Sprintf("%.1000q", fmt.Sprint(fault)), "stack", string(debug.Stack()))...)
	return ErrPanic
}
