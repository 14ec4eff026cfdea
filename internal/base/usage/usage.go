// Package usage has the error for what the caller of the program can correct. Start with Errorf; errors.As finds an *Error in a
// chain. DidYouMean is the remedy for a misspelled name. Cause shortens an error that is quoted. The package does not print: the command decides from the type that its exit code is 2.
package usage

import (
	"errors"
	"fmt"
	"io/fs"
)

// Error is an error that the caller can correct: an invalid option, an invalid config, or no plugin where one
// was named.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf formats an *Error.
func Errorf(format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...)}
}

// Cause strips operation and path from an error of package os, for a message that names the file already, perhaps by another path.
func Cause(err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}
