// Package hosterror creates the errors that operations on repositories return to a module. The messages quote repositories, remotes
// and requests, which are untrusted. Messages are therefore truncated and made valid UTF-8. Start with Denied and Failed. Causes
// are not wrapped: a module gets code and text only.
package hosterror

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxMessage = 2 << 10 // most bytes of a message
	maxQuoted  = 200     // most bytes of one quoted string
)

// Invalid returns the error for a malformed request.
func Invalid(format string, args ...any) error { return newError(abi.HostInvalid, format, args) }

// Denied returns the error for a request that no grant allows.
func Denied(format string, args ...any) error { return newError(abi.HostDenied, format, args) }

// Failed returns the error for an operation that is allowed but has failed.
func Failed(format string, args ...any) error { return newError(abi.HostFailed, format, args) }

func newError(code, format string, args []any) error {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	failure := &abi.HostError{Code: code, Message: "git: " + strings.ToValidUTF8(message, "�")}
	for _, arg := range args {
		if err, ok := arg.(error); ok && failure.Reason == "" {
			failure.Reason = abi.ReasonOf(err)
		}
	}
	return failure
}

// Truncate bounds an untrusted string that an error quotes.
func Truncate(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}
