package ui

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// hello is a template of pages, with the block event.
const hello = `{{define "main"}}<p>Hello, browser</p>{{end}}{{define "event"}}<span>{{.}}</span>{{end}}`

// running is a Server that serves a page at /hello, and a page of events at /live.
type running struct {
	*Server
	clock *clock
	t     *testing.T
	ended chan error
	stop  context.CancelFunc
}

func start(t *testing.T, pages ...Page) *running {
	t.Helper()
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	if pages == nil {
		pages = []Page{{Path: "/hello", Title: "Hello", Template: hello, Model: func(context.Context, url.Values) (any, error) { return nil, nil }}}
	}
	s, err := New(l, pages, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Server: s, clock: &clock{at: time.Now()}, t: t, ended: make(chan error, 1)}
	s.now = r.clock.now
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.ended <- s.Serve(ctx, l) }()
	t.Cleanup(stop)
	return r
}

// url returns the URL of a path of the session, or of a link.
func (r *running) url(path string) string {
	if !strings.HasPrefix(path, linkPath) {
		path = r.session.base + path
	}
	return "http://" + r.authority + path
}

// request sends a request without following redirects. change may be nil.
func (r *running) request(method, path string, change func(*http.Request)) (*http.Response, string) {
	r.t.Helper()
	return r.send(method, r.url(path), change)
}

func (r *running) send(method, url string, change func(*http.Request)) (*http.Response, string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if change != nil {
		change(q)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer, string(body)
}

// open exchanges the link, and returns what adds the cookie to a request.
func (r *running) open() func(*http.Request) {
	r.t.Helper()
	answer, body := r.request(http.MethodGet, linkPath+r.session.link, nil)
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != r.session.base+"/" || len(answer.Cookies()) != 1 {
		r.t.Fatalf("the link was answered with %s: %s", answer.Status, body)
	}
	cookie := answer.Cookies()[0]
	return func(q *http.Request) { q.AddCookie(cookie) }
}

func TestSessionExpiresWhenIdle(t *testing.T) {
	r := start(t)
	cookie := r.open()
	for range 3 { // each request prolongs the session
		r.clock.advance(idleTime - time.Second)
		if answer, body := r.request(http.MethodGet, "/hello", cookie); answer.StatusCode != http.StatusOK {
			t.Fatalf("got %s: %s", answer.Status, body)
		}
	}
	r.clock.advance(idleTime)
	if answer, body := r.request(http.MethodGet, "/hello", cookie); answer.StatusCode != http.StatusForbidden {
		t.Errorf("after the idle time got %s: %s", answer.Status, body)
	}
}

// TestServeEndsWithTheSession begins after the link has expired.
func TestServeEndsWithTheSession(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(l, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return time.Now().Add(linkTime) }
	var ended *Ended
	if err := s.Serve(t.Context(), l); !errors.As(err, &ended) || !strings.Contains(ended.Reason, "was not opened") || !IsEnd(err) {
		t.Errorf("got %v", err)
	}
}

// atPort is a listener that tells another address.
type atPort struct {
	net.Listener
	address string
}

func (l atPort) Addr() net.Addr { return address(l.address) }

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// TestAuthorityIsWhatBrowsersSend has the default port of http, which browsers leave out, and one that ends alike.
func TestAuthorityIsWhatBrowsersSend(t *testing.T) {
	for at, want := range map[string]string{"127.0.0.1:80": "127.0.0.1", "127.0.0.1:8080": "127.0.0.1:8080", "127.0.0.1:180": "127.0.0.1:180"} {
		s, err := New(atPort{address: at}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.authority != want || !strings.HasPrefix(s.Link(), "http://"+want+"/link/") {
			t.Errorf("%s: the authority is %s, the link %s", at, s.authority, s.Link())
		}
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	r := start(t)
	cookie := r.open()
	_, port, _ := net.SplitHostPort(r.authority)
	for name, change := range map[string]func(*http.Request){
		"a name that resolves to this machine": func(q *http.Request) { q.Host = "attacker.example:" + port },
		"another name of this machine":         func(q *http.Request) { q.Host = "localhost:" + port },
		"another port":                         func(q *http.Request) { q.Host = "127.0.0.1:1" },
		"no port":                              func(q *http.Request) { q.Host = "127.0.0.1" },
		"the origin of another site":           func(q *http.Request) { q.Header.Set("Origin", "https://attacker.example") },
		"the origin of another port":           func(q *http.Request) { q.Header.Set("Origin", "http://127.0.0.1:1") },
		"an opaque origin":                     func(q *http.Request) { q.Header.Set("Origin", "null") },
		"two origins":                          func(q *http.Request) { q.Header["Origin"] = []string{"http://" + r.authority, "null"} },
		"a link of another site":               func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") },
		"a link of another port":               func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "same-site") },
		"no cookie":                            func(q *http.Request) { q.Header.Del("Cookie") },
		"another cookie":                       func(q *http.Request) { q.Header.Set("Cookie", cookieName+"="+r.session.link) },
		"an empty cookie":                      func(q *http.Request) { q.Header.Set("Cookie", cookieName+"=") },
		"two cookies": func(q *http.Request) {
			q.Header.Set("Cookie", cookieName+"=x; "+cookieName+"="+r.session.cookie)
		},
	} {
		for _, path := range []string{"/hello", "/", "/assets/htmx.js", "/assets/style.css", "/unknown"} {
			answer, body := r.request(http.MethodGet, path, func(q *http.Request) {
				cookie(q)
				change(q)
			})
			if answer.StatusCode != http.StatusForbidden || strings.Contains(body, "Hello, browser") || len(answer.Cookies()) > 0 {
				t.Errorf("%s: %s is answered with %s: %s", name, path, answer.Status, body)
			}
		}
	}
	for _, site := range []string{"none", "same-origin"} {
		answer, _ := r.request(http.MethodGet, "/hello", func(q *http.Request) {
			cookie(q)
			q.Header.Set("Sec-Fetch-Site", site)
			q.Header.Set("Origin", "http://"+r.authority)
		})
		if answer.StatusCode != http.StatusOK {
			t.Errorf("Sec-Fetch-Site %s is answered with %s", site, answer.Status)
		}
	}
}

// TestLinkIsNotExchangedForOtherSites also checks that a refused request does not use the link.
func TestLinkIsNotExchangedForOtherSites(t *testing.T) {
	r := start(t)
	for _, change := range []func(*http.Request){
		func(q *http.Request) { q.Host = "attacker.example" },
		func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		if answer, _ := r.request(http.MethodGet, linkPath+r.session.link, change); answer.StatusCode != http.StatusForbidden || len(answer.Cookies()) > 0 {
			t.Errorf("got %s with cookies %v", answer.Status, answer.Cookies())
		}
	}
	for _, other := range []string{"", "x", r.session.cookie, r.session.link + "x", r.session.link[:40]} {
		if answer, _ := r.request(http.MethodGet, linkPath+other, nil); answer.StatusCode != http.StatusForbidden || len(answer.Cookies()) > 0 {
			t.Errorf("link %q: got %s with cookies %v", other, answer.Status, answer.Cookies())
		}
	}
	r.open()
}

func TestOnlyReadingMethodsAreAccepted(t *testing.T) {
	r := start(t)
	cookie := r.open()
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
		for _, path := range []string{"/hello", linkPath + r.session.link} {
			if answer, body := r.request(method, path, cookie); answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s is answered with %s: %s", method, path, answer.Status, body)
			}
		}
	}
}

func TestEveryResponseForbidsFramesInlineCodeAndCaches(t *testing.T) {
	r := start(t)
	cookie := r.open()
	for _, path := range []string{"/hello", "/", "/unknown", "/assets/htmx.js", linkPath + "x"} {
		for _, change := range []func(*http.Request){nil, cookie} {
			answer, body := r.request(http.MethodGet, path, change)
			policy := answer.Header.Get("Content-Security-Policy")
			for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
				if !strings.Contains(policy, want) {
					t.Errorf("%s: the policy %q lacks %s", path, policy, want)
				}
			}
			if strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") || strings.Contains(policy, "*") {
				t.Errorf("%s: the policy is %q", path, policy)
			}
			for header, want := range map[string]string{
				"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := answer.Header.Get(header); got != want {
					t.Errorf("%s: %s is %q, want %q", path, header, got, want)
				}
			}
			if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") && (strings.Contains(body, "<style") || strings.Contains(body, " style=") || strings.Contains(body, "<script>")) {
				t.Errorf("%s has inline code: %s", path, body)
			}
		}
	}
}

func TestErrorsOfModelsAreShownEscaped(t *testing.T) {
	const hostile = `<script>alert(1)</script>` + "\u202egnp.exe"
	failing := func(err error) Page {
		return Page{Path: "/hello", Title: "Hello", Template: hello, Model: func(context.Context, url.Values) (any, error) { return nil, err }}
	}
	for want, err := range map[int]error{http.StatusBadRequest: usage.Errorf("%s", hostile), http.StatusInternalServerError: errors.New(hostile)} {
		r := start(t, failing(err))
		answer, body := r.request(http.MethodGet, "/hello", r.open())
		if answer.StatusCode != want || strings.Contains(body, "<script>alert") || strings.Contains(body, "\u202e") || !strings.Contains(body, "alert(1)") {
			t.Errorf("got %s, want %d: %s", answer.Status, want, body)
		}
	}
}

// eventPage is a page whose events are the strings of a channel.
func eventPage(events <-chan string) Page {
	return Page{
		Path: "/live", Title: "Live", Template: hello,
		Model: func(context.Context, url.Values) (any, error) { return nil, errors.New("not here") },
		Events: func(ctx context.Context, _ url.Values, send func(string, any) error) error {
			for {
				select {
				case text := <-events:
					if err := send("event", text); err != nil {
						return err
					}
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		},
	}
}

// listen opens the stream of eventPage.
func (r *running) listen(cookie func(*http.Request)) *http.Response {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url("/live/events"), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	cookie(q)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestEventsAreEscapedAndEndWithTheServer(t *testing.T) {
	events := make(chan string, 2)
	r := start(t, eventPage(events))
	cookie := r.open()
	events <- "</span>\n\nevent: x\ndata: <script>alert(1)</script>"
	answer := r.listen(cookie)
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the type is %q", got)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() && lines.Text() != "" {
		if line := lines.Text(); line != "event: event" && !strings.HasPrefix(line, "data: ") || strings.Contains(line, "<script>") {
			t.Errorf("the stream has the line %q", line)
		}
	}
	r.clock.advance(2 * idleTime) // an open stream keeps the session
	if answer, body := r.request(http.MethodGet, "/live", cookie); answer.StatusCode != http.StatusInternalServerError {
		t.Errorf("while a stream is open, a page is answered with %s: %s", answer.Status, body)
	}
	r.stop()
	if err := <-r.ended; !IsEnd(err) {
		t.Errorf("got %v", err)
	}
	if _, err := io.ReadAll(answer.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	events := make(chan string, maxStreams)
	r := start(t, eventPage(events))
	cookie := r.open()
	for range maxStreams {
		r.listen(cookie)
	}
	if answer, _ := r.request(http.MethodGet, "/live/events", cookie); answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one stream too many is answered with %s", answer.Status)
	}
}

// TestConnectionsAreBounded opens as many connections as are accepted, which send nothing.
func TestConnectionsAreBounded(t *testing.T) {
	r := start(t)
	var dialer net.Dialer
	for range maxConnections {
		c, err := dialer.DialContext(t.Context(), "tcp4", r.authority)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	c, err := dialer.DialContext(t.Context(), "tcp4", r.authority)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("one connection too many got %d bytes", n)
	} else if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("one connection too many stays open")
	}
}

// TestRefusedConnectionsAreLoggedOnce has no room for any connection, after two users were refused.
func TestRefusedConnectionsAreLoggedOnce(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	refusing := &guarded{Listener: l, slots: make(chan struct{}), log: &logger{Logger: hclog.New(&hclog.LoggerOptions{Output: &lines})}}
	for _, user := range []string{"user 1", "user 2"} {
		refused, _ := net.Pipe()
		refusing.refuse(refused, "user", user)
	}
	ended := make(chan error)
	go func() {
		_, err := refusing.Accept()
		ended <- err
	}()
	for range 3 {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("a connection got %d bytes", n)
		}
		_ = c.Close()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if got := lines.String(); strings.Count(got, "a connection was refused") != 2 || !strings.Contains(got, "user 1") || !strings.Contains(got, "there are too many") {
		t.Errorf("logged: %s", got)
	}
}
