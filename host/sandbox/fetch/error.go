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

	"github.com/bulkhead-mcp/bulkhead/host/internal/origin"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func invalid(format string, args ...any) error { return hostError(abi.HostInvalid, format, args) }
func denied(format string, args ...any) error  { return hostError(abi.HostDenied, format, args) }
func failed(format string, args ...any) error  { return hostError(abi.HostFailed, format, args) }

func hostError(code, format string, args []any) error {
	return &abi.HostError{Code: code, Message: "http: " + fmt.Sprintf(format, args...)}
}

// explain says in the host's own words what is wrong with a server. The libraries' words may repeat what
// the server sent, and with it a credential that the server repeated, or name addresses of the host's
// network. Where ctx ended, that is the error.
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
		return failed("%s: there is no such host", o)
	case errors.As(err, &unknown):
		return failed("%s: the host's name could not be looked up", o)
	case errors.As(err, &certificate):
		return failed("%s: its certificate %s", o, fault(certificate))
	case errors.As(err, &noTLS) || errors.Is(err, http.ErrSchemeMismatch):
		return failed("%s does not speak TLS", o)
	case errors.As(err, &errno):
		return failed("%s: %v", o, errno)
	case errors.As(err, &network) && network.Timeout():
		return failed("%s takes too long to answer", o)
	case strings.Contains(err.Error(), "headers exceeded"), strings.Contains(err.Error(), "header list larger"):
		return failed("%s answers with more than %d bytes of headers", o, maxResponseHeader)
	}
	return failed("%s: the connection broke off, or the answer is not valid HTTP", o)
}

// fault is what is wrong with a certificate, without the names that are in it.
func fault(err error) string {
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
