package abi

// OpHTTPFetch sends a request to a web server and follows redirects: HTTPRequest -> HTTPResponse. Any status of the
// response is a result; the error HostDenied means that an origin, or the address that it resolves to, is not granted.
const OpHTTPFetch = "http/fetch"

// Values of HTTPRequest.Redirect.
const (
	// RedirectFollow follows up to 10 redirects, each of which has to point to a granted origin. To a different origin,
	// only GET and HEAD without a body are redirected, and without the request's headers. Such a redirect is refused if
	// the host has a credential for the new origin, or if the new origin is private and the redirecting one is public.
	RedirectFollow = "follow"
	// RedirectManual returns the redirect itself as the response.
	RedirectManual = "manual"
)

// HTTPRequest is a request to a web server.
type HTTPRequest struct {
	// URL is absolute, of a granted origin, and without a user name. A fragment is not sent.
	URL string `json:"url"`
	// Method is in upper case; empty means GET. CONNECT and TRACE are refused.
	Method string `json:"method,omitempty"`
	// Headers by name, in any case. Those that belong to the connection (Host,
	// Content-Length, Transfer-Encoding, …), and those that the host adds for the origin, are refused.
	Headers map[string][]string `json:"headers,omitempty"`
	// Body is encoded as base64; absent: none.
	Body []byte `json:"body,omitempty"`
	// Redirect is RedirectFollow or RedirectManual; empty means RedirectFollow.
	Redirect string `json:"redirect,omitempty"`
	// TimeoutMS bounds the whole operation, in milliseconds. If it is 0 or exceeds the host's own limit, the host's limit
	// applies.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// HTTPResponse is the server's response.
type HTTPResponse struct {
	Status int `json:"status"`
	// URL is that of the request or of the last redirect, without a fragment.
	URL string `json:"url"`
	// Headers by name in lower case, without those that belong to the connection.
	Headers map[string][]string `json:"headers"`
	// Body is encoded as base64. It is decompressed if the server used gzip and the request did not set Accept-Encoding.
	Body []byte `json:"body,omitempty"`
}
