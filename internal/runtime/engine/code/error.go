package code

import "errors"

// Reason classifies an Error.
type Reason int

// The reasons of an Error.
const (
	Missing     Reason = iota // the module's file does not exist or cannot be read
	Digest                    // the file does not have the expected digest
	Invalid                   // the module is invalid, or too expensive to compile
	Compiler                  // the compiler crashed or could not be started: the module may be valid
	Interrupted               // the compiler was killed, or the system was too busy for it: a later attempt may succeed
	Storage                   // the compiled code cannot be stored
)

// Error is a failure to provide a module's code.
type Error struct {
	Reason Reason
	// Text describes the failure. With Invalid, Compiler and Interrupted it is untrusted: it comes from a process that has parsed the
	// module.
	Text string
	Err  error // cause; may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Err }

// storageError wraps an error of the file system of the cache.
func storageError(err error) error {
	return &Error{Reason: Storage, Text: err.Error(), Err: err}
}

// isStorageError reports whether err is an *Error with the reason Storage.
func isStorageError(err error) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && failure.Reason == Storage
}
