package pages

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
)

// browser has opened the link of a server.
type browser struct {
	http.Client
	t     *testing.T
	start *url.URL // the start page
}

// open serves pages, and opens their link.
func open(t *testing.T, pages ...ui.Page) *browser {
	t.Helper()
	l, err := ui.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ui.New(l, pages, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(t.Context(), l) }()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{Client: http.Client{Jar: jar}, t: t}
	answer := b.request(s.Link())
	defer answer.Body.Close()
	b.start = answer.Request.URL
	return b
}

// markedFlag is a flag of a command line, as pages mark it.
var markedFlag = regexp.MustCompile(`<span class="flag">([^<]*)</span>`)

// get returns the page at a path, in which command lines have no marks.
func (b *browser) get(path string) (answer *http.Response, body string) {
	b.t.Helper()
	answer = b.request(b.url(path))
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer, markedFlag.ReplaceAllString(string(text), "$1")
}

// url returns the URL of a path, which is beside the start page.
func (b *browser) url(path string) string {
	b.t.Helper()
	at, err := b.start.Parse("." + path)
	if err != nil {
		b.t.Fatal(err)
	}
	return at.String()
}

func (b *browser) request(url string) *http.Response {
	b.t.Helper()
	q, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.Do(q)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer
}
