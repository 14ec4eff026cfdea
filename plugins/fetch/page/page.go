// Package page fetches pages of web servers and makes text of them. Start with Loader. What may be fetched is decided by the host, for each
// request and redirect; robots.txt is a request of the site that this package honours.
package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/fetch/robots"
)

// User agents of the server that this plugin replaces. Sites know them, and name them in robots.txt.
const (
	autonomousAgent = "ModelContextProtocol/1.0 (Autonomous; +https://github.com/modelcontextprotocol/servers)"
	manualAgent     = "ModelContextProtocol/1.0 (User-Specified; +https://github.com/modelcontextprotocol/servers)"
)

const (
	maxRedirects = 20
	maxRobots    = 500 << 10 // bytes of a robots.txt that are read, as RFC 9309 has it
)

// Page is a fetched page.
type Page struct {
	Text   string
	Prefix string // says, before Text, that it is not Markdown; empty if it is
}

// refusal is an error in the words of the server that this plugin replaces.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// Loader fetches pages with a function that sends requests.
type Loader struct {
	// Get sends a request. Its error is a *Failure, or that of ctx.
	Get func(context.Context, Request) (*Response, error)
}

// Request is a GET request. Redirects are returned if Step is set, and otherwise followed.
type Request struct {
	URL, Agent string
	Step       bool
}

// Response is what a server responds.
type Response struct {
	Status      int
	ContentType string
	Location    []string // values of the header
	Body        []byte
}

// Failure is the reason why there is no response: the request was refused, or the server could not be reached.
type Failure struct {
	Refused bool
	Reason  string
}

func (f *Failure) Error() string { return f.Reason }

// Load fetches the page that the user asked for. url is used in errors as it was written.
func (l Loader) Load(ctx context.Context, url string) (Page, error) {
	u, err := webURL(url)
	if err != nil {
		return Page{}, refuse("Failed to fetch %s: %v", url, err)
	}
	response, err := l.Get(ctx, Request{URL: u.String(), Agent: manualAgent})
	if err != nil {
		return Page{}, explain(url, err)
	}
	return read(response, url, false)
}

// LoadAutonomously fetches a page that a model asked for, if robots.txt of its site allows it, and of the site of each redirect.
func (l Loader) LoadAutonomously(ctx context.Context, u *url.URL, raw bool) (Page, error) {
	s := sites{loader: l}
	for first := u.String(); ; {
		if err := s.check(ctx, u); err != nil {
			return Page{}, err
		}
		response, err := l.Get(ctx, Request{URL: u.String(), Agent: autonomousAgent, Step: true})
		if err != nil {
			return Page{}, explain(first, err)
		}
		if !isRedirect(response.Status) || len(response.Location) == 0 {
			return read(response, first, raw)
		}
		if s.redirects++; s.redirects > maxRedirects {
			return Page{}, refuse("Failed to fetch %s: TooManyRedirects('Exceeded maximum allowed redirects.')", first)
		}
		if u, err = resolve(u, response.Location[0]); err != nil {
			return Page{}, refuse("Failed to fetch %s: RemoteProtocolError('Invalid URL in location header.')", first)
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// resolve resolves the Location of a redirect.
func resolve(u *url.URL, location string) (*url.URL, error) {
	to, err := u.Parse(location)
	if err != nil {
		return nil, err
	}
	return address.Parse(to.String())
}

var errNoProtocol = refuse(`UnsupportedProtocol("Request URL is missing an 'http://' or 'https://' protocol.")`)

// webURL parses the URL of a web server.
func webURL(text string) (*url.URL, error) {
	u, err := address.Parse(text)
	switch {
	case errors.Is(err, address.ErrEmpty), errors.Is(err, address.ErrRelative):
		return nil, errNoProtocol
	case err != nil:
		return nil, err
	case u.Host == "":
		return nil, errNoProtocol
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse(`UnsupportedProtocol("Request URL has an unsupported protocol '%s://'.")`, u.Scheme)
	}
	return u, nil
}

// explain says why there is no response.
func explain(url string, err error) error {
	failure := (*Failure)(nil)
	switch {
	case !errors.As(err, &failure):
		return err
	case failure.Refused:
		return refuse("Refused to fetch %s: %s", url, failure.Reason)
	}
	return refuse("Failed to fetch %s: %s", url, failure.Reason)
}

// read makes text of a response.
func read(response *Response, url string, raw bool) (Page, error) {
	if response.Status >= http.StatusBadRequest {
		return Page{}, refuse("Failed to fetch %s - status code %d", url, response.Status)
	}
	contentType := response.ContentType
	text := decode(response.Body, contentType)
	isHTML := contentType == "" || strings.Contains(contentType, "text/html") || strings.Contains(Cut(text, 0, 100), "<html")
	if isHTML && !raw {
		return Page{Text: markdown(text)}, nil
	}
	return Page{Text: text, Prefix: fmt.Sprintf("Content type %s cannot be simplified to markdown, but here is the raw content:\n", contentType)}, nil
}

// Cut returns the characters of text from start, at most length of them.
func Cut(text string, start, length int) string {
	from, to, n := len(text), len(text), 0
	for i := range text {
		if n == start {
			from = i
		}
		if n == start+length {
			to = i
			break
		}
		n++
	}
	return text[from:to]
}

// sites is what one call knows of the sites that it met.
type sites struct {
	loader    Loader
	allowed   string // origin of the last robots.txt
	content   string // its content
	redirects int
}

// check returns an error if robots.txt of a page's site does not allow programs to fetch the page on their own.
func (s *sites) check(ctx context.Context, u *url.URL) error {
	where := url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: "/robots.txt", OmitHost: u.Opaque != ""}
	if s.allowed != where.String() {
		content, err := s.loader.readRobots(ctx, &where)
		if err != nil {
			return err
		}
		s.allowed, s.content = where.String(), content
	}
	if robots.Allowed(s.content, autonomousAgent, u) {
		return nil
	}
	return refuse("The sites robots.txt (%s), specifies that autonomous fetching of this page is not allowed, "+
		"<useragent>%s</useragent>\n<url>%s</url><robots>\n%s\n</robots>\n"+
		"The assistant must let the user know that it failed to view the page. The assistant may provide further guidance based on the above information.\n"+
		"The assistant can tell the user that they can try manually fetching the page by using the fetch prompt within their UI.", &where, autonomousAgent, u, s.content)
}

// readRobots returns the content of a robots.txt; empty if the site has none.
func (l Loader) readRobots(ctx context.Context, where *url.URL) (string, error) {
	unreachable := refuse("Failed to fetch robots.txt %s due to a connection issue", where)
	if where.Scheme != "http" && where.Scheme != "https" {
		return "", unreachable
	}
	response, err := l.Get(ctx, Request{URL: where.String(), Agent: autonomousAgent})
	failure := (*Failure)(nil)
	switch {
	case errors.As(err, &failure) && !failure.Refused:
		return "", unreachable
	case err != nil:
		return "", explain(where.String(), err)
	case response.Status == http.StatusUnauthorized || response.Status == http.StatusForbidden:
		return "", refuse("When fetching robots.txt (%s), received status %d so assuming that autonomous fetching is not allowed, the user can try manually fetching by using the fetch prompt", where, response.Status)
	case response.Status >= http.StatusBadRequest && response.Status < http.StatusInternalServerError:
		return "", nil
	}
	return decode(response.Body[:min(len(response.Body), maxRobots)], response.ContentType), nil
}
