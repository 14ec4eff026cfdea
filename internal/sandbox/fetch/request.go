package fetch

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/httpheader"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// hop is one request of an operation: the module's own, or that of a redirect.
type hop struct {
	method string
	url    url.URL       // without user and fragment
	origin origin.Origin // origin of url
	header http.Header   // headers of the module, with canonical names
	body   []byte
}

func isMethod(s string) bool {
	return s != "" && len(s) <= 32 && s[0] != '-' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
}

// checkHeader refuses the name of a header that a request must not set.
func checkHeader(name string) error {
	switch {
	case !httpheader.IsName(name):
		return errors.New("a header's name is malformed: it must be an HTTP token of 1 to 128 characters")
	case httpheader.IsOfConnection(name):
		return fmt.Errorf("the header %s belongs to the connection: leave it out", http.CanonicalHeaderKey(name))
	}
	return nil
}

// check validates and normalizes a request. The grant is checked when the request is sent.
func (f *Fetcher) check(q abi.HTTPRequest) (hop, error) {
	h := hop{method: q.Method, body: q.Body}
	if h.method == "" {
		h.method = http.MethodGet
	}
	switch {
	case !isMethod(h.method) || h.method == http.MethodConnect || h.method == http.MethodTrace:
		return hop{}, invalid("the method is not supported: write a method in upper case, such as GET or POST")
	case q.Redirect != "" && q.Redirect != abi.RedirectFollow && q.Redirect != abi.RedirectManual:
		return hop{}, invalid("redirect must be %q or %q", abi.RedirectFollow, abi.RedirectManual)
	case q.TimeoutMS < 0:
		return hop{}, invalid("timeout_ms is negative")
	case int64(len(q.Body)) > f.limits.RequestBody:
		return hop{}, invalid("the body has %d bytes; the limit is %d", len(q.Body), f.limits.RequestBody)
	case len(q.URL) > maxURL:
		return hop{}, invalid("the URL has %d bytes; the limit is %d", len(q.URL), maxURL)
	}
	u, err := url.Parse(q.URL)
	if err != nil {
		return hop{}, invalid("the URL is malformed") // the parser's message would quote the URL
	}
	if err := h.aim(u); err != nil {
		return hop{}, invalid("the URL %v", err)
	}
	if h.header, err = checkHeaders(q.Headers); err != nil {
		return hop{}, err
	}
	if c := f.grants[h.origin].Credential; c != nil && h.header.Values(c.Header) != nil {
		return hop{}, invalid("the host sets the header %s for %s: leave it out", http.CanonicalHeaderKey(c.Header), h.origin)
	}
	return h, nil
}

// aim sets the hop's URL. Its host is replaced by the canonical form that is compared with grants, so that no difference
// between parsers lets a request reach another host.
func (h *hop) aim(u *url.URL) error {
	o, err := origin.Of(u)
	if err != nil {
		return err
	}
	h.origin, h.url = o, *u
	h.url.Host = o.Authority()
	h.url.Fragment, h.url.RawFragment = "", ""
	return nil
}

func checkHeaders(given map[string][]string) (http.Header, error) {
	header, count, size := http.Header{}, 0, 0
	// The names are sorted, so that the values of two spellings of one name have a deterministic order.
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := checkHeader(name); err != nil {
			return nil, invalid("%v", err)
		}
		for _, value := range given[name] {
			if !httpheader.IsValue(value) {
				return nil, invalid("the header %s contains a control character", name)
			}
			header.Add(name, value)
			count++
			size += len(name) + len(value)
		}
	}
	if count > maxRequestHeaders || size > maxRequestHeader {
		return nil, invalid("the number of headers is %d and their total size %d bytes; at most %d headers and %d bytes are allowed", count, size, maxRequestHeaders, maxRequestHeader)
	}
	return header, nil
}
