// Package fault has the failures that clients of aam are told about: each has a code that a program can
// act on, a message for people, and often what to do next. New makes one where it is known what a failure
// means; From finds it again, at the border, in whatever error came up.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

// Code says what kind of failure it is. Clients know these words.
type Code string

// The codes.
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
	Internal              Code = "AAM_INTERNAL_ERROR"
)

// Error is a failure with its code.
type Error struct {
	Code    Code
	Message string         // what happened, without code; safe to show
	Hint    string         // what to do about it; "" for nothing that is known
	Details map[string]any // for programs; nil for none
	Err     error          // the cause, for errors.Is and errors.As; its text is part of Message
}

// New returns a failure whose message is formatted as by fmt.Errorf; what %w wraps is its cause. Texts among args are
// masked before they are formatted: of one that is cut to its first characters, nobody could tell a password any more.
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

// From returns the failure in err's chain, with the words of all of err. An error without one is
// PermissionDenied if the file system refused something, else Internal. From(nil) is nil.
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
	case errors.Is(err, fs.ErrPermission):
		return New(PermissionDenied, "%w", err).WithHint("The folder has to be granted to the plugin; to be changed, with access rw")
	}
	return New(Internal, "%w", err)
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Text returns the failure as clients see it: code in brackets, message, hint.
func (e *Error) Text() string {
	text := "[" + string(e.Code) + "] " + e.Message
	if e.Hint != "" {
		text += ". " + e.Hint
	}
	return text
}

// WithHint returns the failure with what to do about it.
func (e *Error) WithHint(hint string) *Error {
	hinted := *e
	hinted.Hint = hint
	return &hinted
}
