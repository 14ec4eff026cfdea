package abi

// OpHTTPFetch sends a request to a web server and follows redirects: HTTPRequest -> HTTPResponse. A response with any status is a result. The
// error HostDenied means that an origin is not granted, or that the address to which its name resolves is not.
const OpHTTPFetch = "http/fetch"

// Values of HTTPRequest.Redirect.
const (
	// RedirectFollow follows up to 10 redirects, each of which must lead to a granted origin. A redirect to a different origin is followed
	// only for GET and HEAD without a body, and without the headers of the request. It is refused if the host has a credential for the new
	// origin, or if the new origin is private and the redirecting one is public.
	RedirectFollow = "follow"
	// RedirectManual returns a redirect as the response.
	RedirectManual = "manual"
)

// HTTPRequest is a request to a web server.
type HTTPRequest struct {
	// URL is absolute, has a granted origin, and contains no user name. A fragment is not sent.
	URL string `json:"url"`
	// Method is in upper case; empty means GET. CONNECT and TRACE are refused.
	Method string `json:"method,omitempty"`
	// Headers are keyed by names, in any case. Headers of the connection (Host, Content-Length, Transfer-Encoding, …) are refused, and so are
	// headers that the host adds for the origin.
	Headers map[string][]string `json:"headers,omitempty"`
	// Body is encoded as base64; absent: the request has no body.
	Body []byte `json:"body,omitempty"`
	// Redirect is RedirectFollow or RedirectManual; empty means RedirectFollow.
	Redirect string `json:"redirect,omitempty"`
	// TimeoutMS bounds the whole operation, in milliseconds. If it is 0 or exceeds the host's own limit, the host's limit
	// applies.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// HTTPResponse is the response of a web server.
type HTTPResponse struct {
	Status int `json:"status"`
	// URL is the URL of the request, or of the last redirect, without a fragment.
	URL string `json:"url"`
	// Headers are keyed by names in lower case. Headers of the connection are left out.
	Headers map[string][]string `json:"headers"`
	// Body is encoded as base64. If the server used gzip and the request did not set Accept-Encoding, Body is decompressed.
	Body []byte `json:"body,omitempty"`
}
