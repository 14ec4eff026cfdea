// Package guard turns panics into errors.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrPanic is the error that replaces a panic. The log has what caused it.
var ErrPanic = errors.New("internal error in the host; see its log")

// Recover recovers from a panic of the function that defers it, logs the panic, and sets err to ErrPanic. What was done with untrusted
// input then fails, and not the whole process. It does nothing if there is no panic.
func Recover(log interface {
	Error(text string, args ...any)
}, doing string, err *error) {
	if fault := recover(); fault != nil {
		log.Error("panic "+doing, "panic", fmt.Sprintf("%.1000q", fmt.Sprint(fault)), "stack", string(debug.Stack()))
		*err = ErrPanic
	}
}
