// Package hosterror makes the errors that an operation on a repository returns to a module. Their texts
// quote repositories, remotes and requests, all of which are untrusted: they are bounded and valid UTF-8.
package hosterror

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxMessage = 2 << 10 // bytes of a message
	maxQuoted  = 200     // bytes of one quoted string
)

// Invalid reports a malformed request.
func Invalid(format string, args ...any) error { return newError(abi.HostInvalid, format, args) }

// Denied reports a request that no grant allows.
func Denied(format string, args ...any) error { return newError(abi.HostDenied, format, args) }

// Failed reports an operation that was allowed and did not succeed.
func Failed(format string, args ...any) error { return newError(abi.HostFailed, format, args) }

func newError(code, format string, args []any) error {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	return &abi.HostError{Code: code, Message: "git: " + strings.ToValidUTF8(message, "�")}
}

// First returns the first *abi.HostError of joined errors, since a response carries one; otherwise err.
func First(err error) error {
	var host *abi.HostError
	if errors.As(err, &host) {
		return host
	}
	return err
}

// Truncate bounds an untrusted string that an error quotes.
func Truncate(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}
