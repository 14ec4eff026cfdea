package abi

// OpHTTPFetch asks a web server something, redirects included: HTTPRequest -> HTTPResponse. Any status
// that a server answers with is a result; the error HostDenied means that an origin, or the address that
// it leads to, is not granted.
const OpHTTPFetch = "http/fetch"

// What HTTPRequest.Redirect can be.
const (
	// RedirectFollow follows up to 10 redirects, each of which has to lead to a granted origin. To another
	// origin than the one before, only GET and HEAD without body are redirected, without the request's
	// headers, and not where the host has a credential or, from a public origin, a private host.
	RedirectFollow = "follow"
	// RedirectManual gives the redirect itself as the response.
	RedirectManual = "manual"
)

// HTTPRequest is what a module asks a server.
type HTTPRequest struct {
	// URL is absolute, of a granted origin, and without a user name. A fragment is not sent.
	URL string `json:"url"`
	// Method is in upper case; empty means GET. CONNECT and TRACE are refused.
	Method string `json:"method,omitempty"`
	// Headers by name, whose case does not matter. Those that belong to the connection (Host,
	// Content-Length, Transfer-Encoding, …), and those that the host adds for the origin, are refused.
	Headers map[string][]string `json:"headers,omitempty"`
	// Body travels as base64; absent means none.
	Body []byte `json:"body,omitempty"`
	// Redirect is RedirectFollow or RedirectManual; empty means RedirectFollow.
	Redirect string `json:"redirect,omitempty"`
	// TimeoutMS bounds the whole operation, in milliseconds; 0, or more than the host allows, means the
	// host's own bound.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// HTTPResponse is what the server answered.
type HTTPResponse struct {
	Status int `json:"status"`
	// URL is what answered: the request's, or that of the last redirect, without a fragment.
	URL string `json:"url"`
	// Headers by name in lower case, without those that belong to the connection.
	Headers map[string][]string `json:"headers"`
	// Body travels as base64. It is unpacked if the server packed it with gzip and the request did not
	// name an Accept-Encoding itself.
	Body []byte `json:"body,omitempty"`
}
