package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

const (
	maxRedirects    = 5
	maxCapabilities = 100
	userAgent       = "git/bulkhead" // begins with "git/", by which servers recognize git clients
	uploadPack      = "git-upload-pack"
)

// session is the communication with a remote during one operation.
type session struct {
	ctx          context.Context
	http         *http.Client
	url          string // URL of the remote after redirects
	v2           bool
	capabilities map[string]string // capabilities of the server, keyed by name; a value may be empty
	firstRef     string            // in version 0: the reference that precedes the capabilities; empty if there is none
	first        *packetReader     // in version 0: reader of the references after firstRef
	body         io.Closer
}

func (s *session) close() {
	if s.body != nil {
		_ = s.body.Close()
	}
}

// discover requests the protocol version and the capabilities of the server.
func (s *session) discover() error {
	const suffix = "/info/refs"
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+suffix+"?service="+uploadPack, nil)
	if err != nil {
		return err
	}
	response, err := s.do(request, "application/x-git-upload-pack-advertisement", maxAdvertised)
	if err != nil {
		return err
	}
	final := *response.Request.URL
	base, ok := strings.CutSuffix(final.EscapedPath(), suffix)
	if !ok {
		return errors.New("the remote redirects to a URL that is not the URL of a repository")
	}
	s.url = "https://" + final.Host + base
	s.first, s.body = newPacketReader(response.Body), response.Body
	return s.readCapabilities("# service=" + uploadPack)
}

// readCapabilities parses the start of the server's advertisement. In version 0, the capabilities follow the first reference.
func (s *session) readCapabilities(service string) error {
	text, ok, err := s.first.line()
	if err == nil && text == service {
		if _, ok, err = s.first.line(); err == nil && ok {
			return errors.New("the remote does not speak git's protocol: the line with the service's name does not end")
		}
		text, ok, err = s.first.line()
	}
	if err == nil && text == "version 1" {
		text, ok, err = s.first.line()
	}
	if err != nil {
		return err
	}
	if s.v2 = text == "version 2"; !s.v2 {
		if !ok { // old servers send nothing for an empty repository
			return nil
		}
		ref, list, _ := strings.Cut(text, "\x00")
		for word := range strings.FieldsSeq(list) {
			s.addCapability(word)
		}
		if s.firstRef = ref; ref == "" {
			return errNoRefName
		}
		return s.checkObjectFormat()
	}
	for len(s.capabilities) < maxCapabilities {
		if text, ok, err = s.first.line(); err != nil {
			return err
		}
		if !ok {
			return s.checkObjectFormat()
		}
		s.addCapability(text)
	}
	return fmt.Errorf("the remote advertises over %d capabilities", maxCapabilities)
}

func (s *session) addCapability(text string) {
	key, value, _ := strings.Cut(text, "=")
	if key == "symref" { // the key may be repeated, but only the symref of HEAD is used
		if target, ok := strings.CutPrefix(value, "HEAD:"); ok {
			s.capabilities[key] = target
		}
		return
	}
	s.capabilities[key] = value
}

func (s *session) checkObjectFormat() error {
	if format, ok := s.capabilities["object-format"]; ok && format != "sha1" {
		return fmt.Errorf("the repository uses %q hashes: only SHA-1 repositories are supported", hosterror.Truncate(format))
	}
	return nil
}

// beginCommand appends the beginning of a request in protocol version 2.
func (s *session) beginCommand(request *packetWriter, name string) {
	request.linef("command=%s", name)
	if _, ok := s.capabilities["object-format"]; ok {
		request.linef("object-format=sha1")
	}
	request.special(packetDelim)
}

// post sends a protocol request, and returns the body of the response.
func (s *session) post(body *packetWriter, limit int64) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+"/"+uploadPack, &body.Buffer)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	response, err := s.do(request, "application/x-git-upload-pack-result", limit)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// do sends a request. It checks the content type of the response. Reading the response's body fails after limit bytes.
func (s *session) do(request *http.Request, contentType string, limit int64) (*http.Response, error) {
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", contentType)
	request.Header.Set("Git-Protocol", "version=2")
	response, err := s.http.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // every message already names the URL
		}
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{&limitedReader{response.Body, limit, limit}, response.Body}
	switch got, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); {
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		err = fmt.Errorf("the remote requires credentials (%d), which are not supported, or has no such repository", response.StatusCode)
	case response.StatusCode == http.StatusNotFound:
		err = errors.New("the remote has no such repository (404)")
	case response.StatusCode != http.StatusOK:
		err = fmt.Errorf("the remote responds with status %d", response.StatusCode)
	case strings.TrimSpace(got) != contentType:
		err = fmt.Errorf("the remote responds with %q: it does not speak git's smart protocol", hosterror.Truncate(got))
	}
	if err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// checkRedirect follows redirects of the first request of an operation, within the origin of that request. A redirect to a different origin
// would reach a remote that was not granted.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0]
	switch {
	case from.Method != http.MethodGet:
		return errors.New("the remote redirects a request other than the first one")
	case len(via) > maxRedirects:
		return fmt.Errorf("the remote redirects more than %d times", maxRedirects)
	case to.URL.Scheme != from.URL.Scheme, to.URL.Host != from.URL.Host, to.URL.User != nil:
		return fmt.Errorf("the remote redirects to %q, which has a different origin; if that is intended, request that URL",
			hosterror.Truncate(to.URL.Redacted()))
	}
	return nil
}

// limitedReader returns an error when its limit is exceeded. io.LimitReader would report the end of the data instead, so that truncated data
// would look complete.
type limitedReader struct {
	r           io.Reader
	left, limit int64
}

func (l *limitedReader) Read(to []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the remote's response is larger than %d bytes", l.limit)
	}
	n, err := l.r.Read(to[:min(int64(len(to)), l.left)])
	l.left -= int64(n)
	return n, err
}
