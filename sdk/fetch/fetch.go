// Package fetch asks web servers: those whose origins the host granted, and no others. The host does the
// asking, so that a plugin needs no HTTP of its own (package net/http would be most of its module), and
// adds credentials that a plugin never sees.
//
//	response, err := fetch.Get(ctx, "https://registry.example.com/v1/packages")
//	if err != nil {
//		return nil, err // refused, or no answer
//	}
//	if response.Status != 200 {
//		…
//	}
//
// Errors are *sdk.HostError where the host refused (sdk/abi's HostDenied and HostInvalid) or the server did
// not answer (HostFailed). Any status that a server answers with is a response and no error.
package fetch

import (
	"context"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Request is what to ask. Only URL is required.
type Request struct {
	URL    string // absolute, and without a user name
	Method string // in upper case; empty means GET
	// Header is sent as it is. Names that belong to the connection (Host, Content-Length, …), and those that
	// the host adds for the server, are refused.
	Header Header
	Body   []byte
	// NoRedirects gives a redirect itself as the response, instead of following up to 10 of them.
	NoRedirects bool
}

// Response is what the server answered.
type Response struct {
	Status int
	URL    string // of what answered, after redirects
	Header Header // names in lower case
	Body   []byte // unpacked, unless the request named an Accept-Encoding
}

// Header holds the values of headers by name. Read it by Get or Values, to which the case of a name does
// not matter.
type Header map[string][]string

// Get returns the first value of the header of that name; "" if there is none.
func (h Header) Get(name string) string {
	if values := h.Values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Values returns all values of the header of that name; nil if there is none.
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

// Get asks for a URL.
func Get(ctx context.Context, url string) (*Response, error) {
	return Do(ctx, Request{URL: url})
}

// Do asks, and returns the server's answer. A deadline of ctx holds for the host, too; if it passes, the
// error is that of ctx. ctx cannot end a request that has begun in another way.
func Do(ctx context.Context, r Request) (*Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	request := abi.HTTPRequest{URL: r.URL, Method: r.Method, Headers: r.Header, Body: r.Body}
	if r.NoRedirects {
		request.Redirect = abi.RedirectManual
	}
	if deadline, ok := ctx.Deadline(); ok {
		// A part of a millisecond counts as one: 0 would be no limit.
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
