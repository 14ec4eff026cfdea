package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func invalid(format string, args ...any) error { return hostError(abi.HostInvalid, format, args) }
func denied(format string, args ...any) error  { return hostError(abi.HostDenied, format, args) }
func failed(format string, args ...any) error  { return hostError(abi.HostFailed, format, args) }

func hostError(code, format string, args []any) error {
	return &abi.HostError{Code: code, Message: "http: " + fmt.Sprintf(format, args...)}
}

// explain maps an error of the exchange to one with a fixed text. Errors of libraries may quote the server, which may echo a
// credential, or name addresses of the local network. If ctx has ended, its error is returned.
func explain(ctx context.Context, o origin.Origin, err error) error {
	var (
		refused     *dial.Refused
		unknown     *net.DNSError
		certificate *tls.CertificateVerificationError
		noTLS       tls.RecordHeaderError
		errno       syscall.Errno
		network     net.Error
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused):
		return denied("%s: %v", o, refused)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		return failed("%s: no such host", o)
	case errors.As(err, &unknown):
		return failed("%s: the host's name could not be resolved", o)
	case errors.As(err, &certificate):
		return failed("%s: its certificate %s", o, certificateFault(certificate))
	case errors.As(err, &noTLS) || errors.Is(err, http.ErrSchemeMismatch):
		return failed("%s does not speak TLS", o)
	case errors.As(err, &errno):
		return failed("%s: %v", o, errno)
	case errors.As(err, &network) && network.Timeout():
		return failed("%s did not respond in time", o)
	case strings.Contains(err.Error(), "headers exceeded"), strings.Contains(err.Error(), "header list larger"):
		return failed("%s responds with more than %d bytes of headers", o, maxResponseHeader)
	}
	return failed("%s: the connection was lost, or the response is not valid HTTP", o)
}

// certificateFault describes an invalid certificate without quoting its names.
func certificateFault(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		reason    x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "is signed by an unknown authority"
	case errors.As(err, &host):
		return "is for another host"
	case errors.As(err, &reason) && reason.Reason == x509.Expired:
		return "has expired or is not valid yet"
	}
	return "is not valid"
}
