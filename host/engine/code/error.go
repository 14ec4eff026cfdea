package code

// Reason says what kind of failure an Error is.
type Reason int

// The reasons of an Error.
const (
	Missing  Reason = iota // there is no such file, or it cannot be read
	Digest                 // it has not the digest that it must have
	Invalid                // not a module that can be run, or one that takes too much to compile
	Compiler               // the compiler was killed, crashed or could not be started: nothing is known of the module
	Storage                // what was compiled cannot be kept
)

// Error is a failure to provide a module's code.
type Error struct {
	Reason Reason
	// Text says what happened. With Invalid and Compiler it comes from a process that has parsed the module and is
	// not to be trusted with more than being shown.
	Text string
	Err  error // nil: there is no cause beyond Text
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Err }

// storage is the error of a file system that keeps compiled code.
func storage(err error) error {
	return &Error{Reason: Storage, Text: err.Error(), Err: err}
}
