// Package fetch sends HTTP requests to the origins that the host grants. Start with Get and Do. The host makes the requests, so a plugin
// needs no HTTP client; net/http would be most of its module. The host also adds credentials, which the plugin never sees.
//
//	response, err := fetch.Get(ctx, "https://registry.example.com/v1/packages")
//	if err != nil {
//		return nil, err // refused, or no response
//	}
//	if response.Status != 200 {
//		…
//	}
//
// If the host refused a request (HostDenied and HostInvalid of sdk/abi), or the server did not respond (HostFailed), the error is an
// *sdk.HostError. A response with any status is not an error.
//
// Stability: exported names stay within a major version.
package fetch

import (
	"context"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Request is an HTTP request. Only URL is required.
type Request struct {
	URL    string // absolute URL without a user name
	Method string // method in upper case; empty: GET
	// Header is sent unchanged. Headers of the connection (Host, Content-Length, …) are refused, and so are headers that the host adds for the
	// server.
	Header Header
	Body   []byte
	// NoRedirects returns a redirect as the response. If it is not set, up to 10 redirects are followed.
	NoRedirects bool
}

// Response is the server's response.
type Response struct {
	Status int
	URL    string // URL after redirects
	Header Header // headers, with names in lower case
	Body   []byte // content, which is decompressed unless the request set Accept-Encoding
}

// Header maps names of headers to their values. Get and Values ignore the case of names.
type Header map[string][]string

// Get returns the first value of the header called name; empty if there is none.
func (h Header) Get(name string) string {
	if values := h.Values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Values returns all values of the header called name; nil if there are none.
func (h Header) Values(name string) []string {
	if values, ok := h[strings.ToLower(name)]; ok {
		return values
	}
	for other, values := range h {
		if strings.EqualFold(other, name) {
			return values
		}
	}
	return nil
}

// Get sends a GET request.
func Get(ctx context.Context, url string) (*Response, error) {
	return Do(ctx, Request{URL: url})
}

// Do sends a request and returns the response. The host ends the request at the deadline of ctx; the returned error is then the error of ctx.
// A cancellation of ctx does not end a request in flight.
func Do(ctx context.Context, r Request) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	request := abi.HTTPRequest{URL: r.URL, Method: r.Method, Headers: r.Header, Body: r.Body}
	if r.NoRedirects {
		request.Redirect = abi.RedirectManual
	}
	if deadline, ok := ctx.Deadline(); ok {
		// The timeout is rounded up to 1 ms, since 0 would mean that there is no limit.
		request.TimeoutMS = max(1, time.Until(deadline).Milliseconds())
	}
	var response abi.HTTPResponse
	if err := sdk.HostCall(abi.OpHTTPFetch, request, &response); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return &Response{Status: response.Status, URL: response.URL, Header: response.Headers, Body: response.Body}, nil
}
