package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/httpheader"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// userAgent is the default User-Agent.
const userAgent = "bulkhead"

// maxDiscard bounds how much of a redirect's body is read so that its connection can be reused, in bytes.
const maxDiscard = 2 << 10

// exchange sends one request and reads the response. location is set for a redirect to be followed, whose headers and body
// are dropped.
func (f *Fetcher) exchange(ctx context.Context, h hop, manual bool) (response abi.HTTPResponse, location string, err error) {
	record := Record{Method: h.method, Target: h.target()}
	defer func() { f.record(ctx, record, err) }()
	request, err := f.request(ctx, h)
	if err != nil {
		return abi.HTTPResponse{}, "", err
	}
	record.Sent = int64(len(h.body))
	answer, err := f.transport.RoundTrip(request)
	if err != nil {
		return abi.HTTPResponse{}, "", explain(ctx, h.origin, err)
	}
	defer answer.Body.Close()
	record.Status = answer.StatusCode
	response = abi.HTTPResponse{Status: answer.StatusCode, URL: h.url.String()}
	if !manual && isRedirect(answer.StatusCode) {
		if location = answer.Header.Get("Location"); location != "" {
			_, _ = io.CopyN(io.Discard, answer.Body, maxDiscard) // the connection can be reused only if its body was read
			return response, location, nil
		}
	}
	if response.Headers, err = f.headers(h, answer); err != nil {
		return abi.HTTPResponse{}, "", err
	}
	response.Body, err = f.body(ctx, h, answer)
	record.Received = int64(len(response.Body))
	if err != nil {
		return abi.HTTPResponse{}, "", err
	}
	return response, "", nil
}

// request authorizes a hop, directly before it is sent, and adds the grant's credential.
func (f *Fetcher) request(ctx context.Context, h hop) (*http.Request, error) {
	grant, ok := f.grant(h.origin)
	switch {
	case !ok && f.publicWeb:
		return nil, denied("%s is not granted: the public web is http on port 80 and https on port 443", h.origin)
	case !ok:
		return nil, denied("%s is not granted", h.origin)
	}
	request, err := http.NewRequestWithContext(ctx, h.method, h.origin.String(), bytes.NewReader(h.body))
	if err != nil {
		return nil, invalid("the request to %s cannot be made", h.origin)
	}
	request.URL = &h.url
	request.Header = h.header.Clone()
	if request.Header.Values("User-Agent") == nil {
		request.Header.Set("User-Agent", userAgent)
	}
	if grant.Credential == nil {
		return request, nil
	}
	value, err := grant.Credential.Value(ctx)
	if err != nil {
		f.log.Error("http: the credential cannot be read", "origin", h.origin, "header", grant.Credential.Header, "error", err)
		return nil, failed("the credential for %s cannot be read: see the host's log for the reason", h.origin)
	}
	if value == "" || !httpheader.IsValue(value) {
		f.log.Error("http: the credential is empty or contains a control character", "origin", h.origin, "header", grant.Credential.Header)
		return nil, failed("the credential for %s is empty or contains a control character", h.origin)
	}
	request.Header.Set(grant.Credential.Header, value)
	return request, nil
}

// headers returns the response's headers, without those of the connection. Their names are in lower case, as in HTTP/2.
func (f *Fetcher) headers(h hop, answer *http.Response) (map[string][]string, error) {
	headers, count := map[string][]string{}, 0
	for name, values := range answer.Header {
		if httpheader.IsOfConnection(name) && name != "Content-Length" {
			continue
		}
		headers[strings.ToLower(name)] = values
		count += len(values)
	}
	if count > maxResponseHeaders {
		return nil, failed("%s responds with %d headers; the limit is %d", h.origin, count, maxResponseHeaders)
	}
	return headers, nil
}

// body reads the response's body. net/http decompresses it, so the limit applies to the decompressed size.
func (f *Fetcher) body(ctx context.Context, h hop, answer *http.Response) ([]byte, error) {
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return nil, failed("%s switches to a protocol other than HTTP, which is not supported", h.origin)
	}
	limit := f.limits.ResponseBody
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	switch {
	case ctx.Err() != nil:
		// The connection is closed when ctx ends. A server that notices this may terminate a partial body properly; it
		// must not be taken for a complete response.
		return nil, ctx.Err()
	case err != nil:
		return nil, explain(ctx, h.origin, err)
	case int64(len(body)) > limit:
		return nil, failed("%s responds with more than %d bytes", h.origin, limit)
	}
	return body, nil
}
