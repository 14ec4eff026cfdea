package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
)

// Client talks to registries.
type Client struct {
	HTTP download.Client
	// Credential returns the user's credential for a registry; the zero value if there is none. It is called only if the registry asks for
	// one. If it is nil, there are none.
	Credential func(ctx context.Context, registry string) (Credential, error)
}

// session is a conversation with one repository.
type session struct {
	client *Client
	ref    Reference
	scheme string
	// authorization is the header that the registry has accepted or is to be offered; empty: none was asked for.
	authorization string
	write         bool
}

// begin finds out whether the registry speaks TLS. Only one on loopback may not.
func (c *Client) begin(ctx context.Context, ref Reference, write bool) (*session, error) {
	s := &session{client: c, ref: ref, scheme: "https", write: write}
	if !ref.IsLoopback() {
		return s, nil
	}
	u := ref.api("https", "")
	u.Path = "/v2/"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := c.HTTP.Do(r)
	switch {
	case isPlain(err):
		s.scheme = "http"
	case err != nil:
		return nil, s.problem(err)
	default:
		_ = response.Body.Close() // only its existence matters
	}
	return s, nil
}

// isPlain reports whether a handshake failed because the server answered in plain HTTP.
func isPlain(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/"
}

// problem adds the reference to an error.
func (s *session) problem(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.ref, err)
}

// maxErrorBody bounds what is read of the body of an error, in bytes.
const maxErrorBody = 8 << 10

// do sends a request to the registry, with a credential if it asks for one, and returns the response if its status is one of those that
// are wanted.
func (s *session) do(ctx context.Context, method string, to *url.URL, header http.Header, content []byte, want ...int) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		r, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(content))
		if err != nil {
			return nil, err
		}
		for name, values := range header {
			r.Header[name] = values
		}
		own, err := s.isOwn(to)
		if err != nil {
			return nil, err
		}
		if own && s.authorization != "" {
			r.Header.Set("Authorization", s.authorization)
		}
		response, err := s.client.HTTP.Do(r)
		if err != nil {
			return nil, err
		}
		for _, status := range want {
			if response.StatusCode == status {
				return response, nil
			}
		}
		err = errors.Join(responseError(response), response.Body.Close())
		if response.StatusCode != http.StatusUnauthorized || attempt > 0 || !own {
			return nil, err
		}
		// A redirect to another host may have asked: only the registry itself gets an answer.
		if answered, aerr := s.isOwn(responseURL(response, to)); aerr != nil || !answered {
			return nil, err
		}
		if s.authorization, err = s.authorize(ctx, response.Header.Values("WWW-Authenticate")); err != nil {
			return nil, err
		}
	}
}

// responseURL returns the URL that a response comes from, after redirects.
func responseURL(r *http.Response, asked *url.URL) *url.URL {
	if r.Request != nil && r.Request.URL != nil {
		return r.Request.URL
	}
	return asked
}

// isOwn reports whether a URL is one of the registry's own origin, to which credentials are sent. It is an error if the URL may not be
// requested at all.
func (s *session) isOwn(u *url.URL) (bool, error) {
	registry, err := origin.Of(s.ref.api(s.scheme, ""))
	if err != nil {
		return false, err
	}
	at, err := download.Origin(u)
	if err != nil {
		return false, err
	}
	if registry.Scheme == "https" && at.Scheme != "https" {
		return false, fmt.Errorf("the registry names the address %s, which is not https", at)
	}
	return at == registry, nil
}

// responseError returns the error of a response: its status, and the codes of the registry, without its texts.
func responseError(r *http.Response) error {
	err := &StatusError{Status: r.StatusCode}
	body, rerr := io.ReadAll(io.LimitReader(r.Body, maxErrorBody))
	if rerr != nil {
		return err
	}
	err.Codes = errorCodes(body)
	return err
}

// StatusError says that a registry refused a request.
type StatusError struct {
	Status int
	Codes  []string // such as MANIFEST_UNKNOWN
}

func (e *StatusError) Error() string {
	what := fmt.Sprintf("status %d (%s)", e.Status, http.StatusText(e.Status))
	if len(e.Codes) > 0 {
		what += ", " + strings.Join(e.Codes, ", ")
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "the registry refuses access: " + what + ": log in with `docker login`, or check what your account may do"
	case http.StatusNotFound:
		return "the registry does not have it: " + what
	case http.StatusTooManyRequests:
		return "the registry refuses further requests for now: " + what
	}
	return "the registry answers with " + what
}
