package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	anyRemote     = "*"
	maxURL        = 2 << 10 // bytes
	maxRedirects  = 5
	remoteTimeout = 2 * time.Minute // of one operation, should the call's own not be shorter
	maxFetches    = 2               // at the same time; the others wait
	userAgent     = "git/bulkhead"  // servers look for "git/" to tell a git client from a browser
)

// remotes are the remote repositories that are granted, and the client that speaks to them. go-git's own
// client is not used: it knows neither version 2 of the protocol, without which a server lists every
// reference it has and gives no commit but the newest, nor a bound for what it reads.
type remotes struct {
	any    bool
	urls   []string
	client *http.Client
	turns  chan struct{} // of those who hold a pack in memory
}

func newRemotes(c Config) *remotes {
	r := &remotes{any: slices.Contains(c.Remotes, anyRemote), turns: make(chan struct{}, maxFetches)}
	for _, granted := range c.Remotes {
		u, err := remoteURL(granted)
		switch {
		case err == nil:
			r.urls = append(r.urls, u)
		case granted != anyRemote:
			c.Log.Error("git: a granted remote is left out", "error", err)
		}
	}
	r.client = &http.Client{Transport: c.Transport, CheckRedirect: checkRedirect}
	if c.Transport == nil {
		r.client.Transport = noTransport{}
	}
	return r
}

// noTransport reaches nothing.
type noTransport struct{}

func (noTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return nil, errors.New("this host connects to no remote")
}

// checkRedirect follows the first request of an operation within its origin, and no other.
func checkRedirect(to *http.Request, via []*http.Request) error {
	from := via[0]
	switch {
	case from.Method != http.MethodGet:
		return errors.New("the remote redirects a request that is not its first")
	case len(via) > maxRedirects:
		return fmt.Errorf("over %d redirects", maxRedirects)
	case to.URL.Scheme != from.URL.Scheme, to.URL.Host != from.URL.Host, to.URL.User != nil:
		return fmt.Errorf("the remote redirects to %q, which is not its own origin; if that is right ask for that URL",
			shorten(to.URL.Redacted()))
	}
	return nil
}

// remoteURL gives a URL in the one form by which grants and requests are compared.
func remoteURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxURL:
	case u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
	case strings.Trim(u.Path, "/") != "" && path.Clean(u.Path) != strings.TrimRight(u.Path, "/"):
	default:
		host := strings.ToLower(u.Host)
		return "https://" + strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":") + strings.TrimRight(u.EscapedPath(), "/"), nil
	}
	return "", invalid("url: %q: give https://host/path, without user, password, query and dots that lead elsewhere",
		shorten(withoutCredentials(text)))
}

// allow gives the URL in its one form if it is granted.
func (r *remotes) allow(text string) (string, error) {
	u, err := remoteURL(text)
	switch {
	case err != nil:
		return "", err
	case r.any || slices.Contains(r.urls, u):
		return u, nil
	case len(r.urls) == 0:
		return "", denied("%s: this plugin is granted no remote; its manifest must ask for remotes = [URL] under "+
			"[capabilities] git", u)
	}
	return "", denied("%s is not one of the granted remotes (%s)", u, strings.Join(r.urls, ", "))
}

// session is one operation's talk with a remote.
type session struct {
	ctx  context.Context
	http *http.Client
	url  string // where redirects led
	v2   bool
	// What the server says that it can do, each with its value or an empty one.
	capabilities map[string]string
	first        *packets // version 0: the references follow
	body         io.Closer
}

// remote opens a session with a granted remote, runs f on it, and gives every error its form.
func (o *Ops) remote(ctx context.Context, text string, f func(*session) error) (err error) {
	shown := shorten(withoutCredentials(text))
	defer o.rescue(shown, &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	granted, err := o.remotes.allow(text)
	if err == nil {
		timed, cancel := context.WithTimeout(ctx, remoteTimeout)
		defer cancel()
		s := &session{ctx: timed, http: o.remotes.client, url: granted, capabilities: map[string]string{}}
		if err = s.discover(); err == nil {
			err = f(s)
		}
		s.close()
		if timed.Err() != nil && err != nil {
			err = fmt.Errorf("the remote has not answered within %v", remoteTimeout)
		}
	}
	return o.outcome(ctx, shown, err)
}

func (s *session) close() {
	if s.body != nil {
		_ = s.body.Close()
	}
}

// discover asks which version the server speaks and what it can do.
func (s *session) discover() error {
	const suffix, service = "/info/refs", "git-upload-pack"
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url+suffix+"?service="+service, nil)
	if err != nil {
		return err
	}
	answer, err := s.do(request, "application/x-git-upload-pack-advertisement", maxAdvertised)
	if err != nil {
		return err
	}
	led := *answer.Request.URL
	base, ok := strings.CutSuffix(led.EscapedPath(), suffix)
	if !ok {
		return errors.New("the remote redirects to what is no repository")
	}
	s.url = "https://" + led.Host + base
	s.first, s.body = newPackets(answer.Body), answer.Body
	return s.readCapabilities("# service=" + service)
}

// do sends a request, and gives an answer of the wanted type whose body is bounded.
func (s *session) do(request *http.Request, want string, limit int64) (*http.Response, error) {
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", want)
	request.Header.Set("Git-Protocol", "version=2")
	answer, err := s.http.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL, which every message has already
		}
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{&limitedReader{answer.Body, limit, limit}, answer.Body}
	switch kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";"); {
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden:
		err = fmt.Errorf("the remote wants credentials (%d), which cannot be given here; or there is no such repository", answer.StatusCode)
	case answer.StatusCode == http.StatusNotFound:
		err = errors.New("the remote has no such repository (404)")
	case answer.StatusCode != http.StatusOK:
		err = fmt.Errorf("the remote answers with the status %d", answer.StatusCode)
	case strings.TrimSpace(kind) != want:
		err = fmt.Errorf("the remote answers with %q: it does not speak git's smart protocol", shorten(kind))
	}
	if err != nil {
		_ = answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// post sends a request of the protocol's.
func (s *session) post(body *packetWriter, limit int64) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url+"/git-upload-pack", &body.Buffer)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	answer, err := s.do(request, "application/x-git-upload-pack-result", limit)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// limitedReader ends with an error where io.LimitReader ends as if that were all.
type limitedReader struct {
	r           io.Reader
	left, limit int64
}

func (l *limitedReader) Read(to []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the remote's answer is over %d bytes", l.limit)
	}
	n, err := l.r.Read(to[:min(int64(len(to)), l.left)])
	l.left -= int64(n)
	return n, err
}
