// Package fault defines the errors that clients of the plugin receive. Such an error has a code for programs, a message
// for people, and often a hint. New creates an Error where the cause of a failure is known. From converts any error to
// an Error before the error is sent to the client.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Code classifies a failure. Clients depend on the values.
type Code string

// The codes of all failures.
const (
	InvalidArgument       Code = "AAM_INVALID_ARGUMENT"
	NotInitialized        Code = "AAM_NOT_INITIALIZED"
	ManifestNotFound      Code = "AAM_MANIFEST_NOT_FOUND"
	ManifestInvalid       Code = "AAM_MANIFEST_INVALID"
	RegistryNotConfigured Code = "AAM_REGISTRY_NOT_CONFIGURED"
	RegistryNotFound      Code = "AAM_REGISTRY_NOT_FOUND"
	RegistryUnreachable   Code = "AAM_REGISTRY_UNREACHABLE"
	PackageNotFound       Code = "AAM_PACKAGE_NOT_FOUND"
	PackageNotInstalled   Code = "AAM_PACKAGE_NOT_INSTALLED"
	DependencyConflict    Code = "AAM_DEPENDENCY_CONFLICT"
	PermissionDenied      Code = "AAM_PERMISSION_DENIED"
	ChecksumMismatch      Code = "AAM_CHECKSUM_MISMATCH"
	ArchiveInvalid        Code = "AAM_ARCHIVE_INVALID"
	FilesChanging         Code = "AAM_FILES_CHANGING" // other programs change the files while they are packed
	FileExists            Code = "AAM_FILE_EXISTS"    // a deployment would replace a file of the user
	Internal              Code = "AAM_INTERNAL_ERROR"
)

// Error is a failure with its code.
type Error struct {
	Code    Code
	Message string         // the message without the code; contains no secrets
	Hint    string         // says how the user can resolve the failure; may be empty
	Details map[string]any // further data for programs; may be nil
	Err     error          // the cause, for errors.Is and errors.As; Message already includes the text of the cause
}

// New returns an Error whose message is formatted as by fmt.Errorf. The argument for %w is the cause of the Error. New
// redacts the strings in args before it formats them, because a password in a string that %.40q has truncated could no
// longer be recognized.
func New(code Code, format string, args ...any) *Error {
	safe := slices.Clone(args)
	for i, arg := range safe {
		if text, ok := arg.(string); ok {
			safe[i] = redact.Text(text)
		}
	}
	err := fmt.Errorf(format, safe...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// linked is the hint for a path that resolves outside of the directory in which it must stay. A grant does not help there.
const linked = "Replace the symbolic link with a directory, or, for a directory of a platform, name another platform: nothing is written through a link that leaves its directory"

// From returns the Error in the chain of err, with the complete message of err. If the chain has no Error, From returns
// a new Error with the code PermissionDenied if the file system denied access or a symbolic link leaves its directory, and Internal otherwise. From(nil) is
// nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var found *Error
	switch {
	case errors.As(err, &found):
		whole := *found
		whole.Message = err.Error()
		return &whole
	case errors.Is(err, contain.ErrOutside):
		return New(PermissionDenied, "%w", err).WithHint(linked)
	case errors.Is(err, fs.ErrPermission):
		return New(PermissionDenied, "%w", err).WithHint("Grant the directory to the plugin, with access rw if files in it are to be changed")
	}
	return New(Internal, "%w", err)
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause of the error.
func (e *Error) Unwrap() error { return e.Err }

// Text returns the error in the form for clients: the code in brackets, the message, and the hint.
func (e *Error) Text() string {
	text := "[" + string(e.Code) + "] " + e.Message
	if e.Hint != "" {
		text += ". " + e.Hint
	}
	return text
}

// WithHint returns a copy of e with the given hint.
func (e *Error) WithHint(hint string) *Error {
	hinted := *e
	hinted.Hint = hint
	return &hinted
}
