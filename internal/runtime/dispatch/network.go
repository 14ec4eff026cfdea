package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// network performs network operations on behalf of a plugin's workers, which have no sockets: http/fetch, and the requests of git
// operations on remotes. Credentials are added to the requests in this process (package fetch), so workers never see them. Workers are
// untrusted, so every request is validated again. A network is safe for concurrent use.
type network struct {
	fetch   *fetch.Fetcher
	git     http.RoundTripper // sends requests to git servers
	any     bool              // whether any https URL is a granted remote
	remotes []string          // URLs of the granted remotes as the function base returns them
}

// newNetwork returns a network. It opens no connections. remotes are the URLs of the granted git repositories, or "*" for any https URL.
func newNetwork(f *fetch.Fetcher, git http.RoundTripper, remotes []string) *network {
	n := &network{fetch: f, git: git}
	for _, remote := range remotes {
		if remote == "*" {
			n.any = true
		} else if u, err := url.Parse(remote); err == nil {
			n.remotes = append(n.remotes, base(u, ""))
		}
	}
	return n
}

func originOf(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + strings.TrimSuffix(strings.ToLower(u.Host), ":443")
}

// base returns the normalized URL of a repository, given a URL of git's protocol whose path ends with suffix.
func base(u *url.URL, suffix string) string {
	return originOf(u) + strings.TrimRight(strings.TrimSuffix(u.EscapedPath(), suffix), "/")
}

// close closes idle connections. All sessions must have ended.
func (n *network) close() { n.fetch.Close() }

// networkSession is the network state of one call. Its operations must not run concurrently.
type networkSession struct {
	network *network
	ctx     context.Context // context of the call and not of an operation: later operations read the body that one opened
	cancel  context.CancelFunc

	mu         sync.Mutex
	streams    map[int]io.ReadCloser // response bodies of git servers
	last       int                   // number of the last stream
	redirected []string              // repositories that servers redirected to, within their origin
}

// begin returns the session of a call. The caller must call end.
func (n *network) begin(ctx context.Context) *networkSession {
	return &networkSession{network: n, ctx: ctx}
}

// end closes the open streams.
func (s *networkSession) end() {
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.streams {
		_ = body.Close() // a body is only read, so no data is lost if closing fails
	}
	s.streams = nil
}

// do performs an operation. ok is false if it is not a network operation.
func (s *networkSession) do(ctx context.Context, operation wire.Operation) (result []byte, err error, ok bool) {
	switch operation.Op {
	case abi.OpHTTPFetch:
		result, err = s.fetch(ctx, operation.Params)
	case wire.OpGitOpen:
		result, err = s.open(ctx, operation.Params)
	case wire.OpGitRead:
		result, err = s.read(ctx, operation.Params)
	case wire.OpGitShut:
		err = s.shut(operation.Params)
	default:
		return nil, nil, false
	}
	return result, err, true
}

func (s *networkSession) fetch(ctx context.Context, params []byte) ([]byte, error) {
	if err := rawjson.Bound(params, maxRequestValues, maxRequestDepth); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "http/fetch: " + err.Error()}
	}
	var request abi.HTTPRequest
	if err := json.Unmarshal(params, &request); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "http/fetch: the request cannot be decoded"}
	}
	response, err := s.network.fetch.Fetch(ctx, request)
	if err != nil {
		return nil, err
	}
	return json.Marshal(response)
}

// Bounds of the number of values in a request, and of their nesting.
const (
	maxRequestValues = 1_000
	maxRequestDepth  = 16
)

// Bounds of a session.
const (
	maxStreams = 4         // open streams; also the bound of redirected repositories
	maxRead    = 256 << 10 // bytes that one read returns
)

// gitPaths are the path suffixes of requests to a git server, by method.
var gitPaths = map[string]string{http.MethodGet: "/info/refs", http.MethodPost: "/git-upload-pack"}

// gitQueries are the URL queries of requests to a git server, by method.
var gitQueries = map[string]string{http.MethodGet: "service=git-upload-pack"}

// gitHeaders are the request headers that a worker may set.
var gitHeaders = []string{"User-Agent", "Accept", "Git-Protocol", "Content-Type"}

// open sends a request to a git server and stores the response body as a stream.
func (s *networkSession) open(ctx context.Context, params []byte) ([]byte, error) {
	if s.cancel == nil {
		s.ctx, s.cancel = context.WithCancel(s.ctx)
	}
	defer context.AfterFunc(ctx, s.cancel)() // ctx is cancelled with the call and with its worker
	if err := rawjson.Bound(params, maxRequestValues, maxRequestDepth); err != nil {
		return nil, err
	}
	var q wire.GitRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, errors.New("the request cannot be decoded")
	}
	request, err := s.gitRequest(q)
	if err != nil {
		return nil, err
	}
	response, err := s.network.git.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) >= maxStreams {
		_ = response.Body.Close()
		return nil, fmt.Errorf("more than %d responses of git servers are open", maxStreams)
	}
	if s.streams == nil {
		s.streams = map[int]io.ReadCloser{}
	}
	s.allowRedirect(request, response)
	s.last++
	s.streams[s.last] = response.Body
	return json.Marshal(wire.GitAnswer{
		Stream: s.last, Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Location: response.Header.Get("Location"),
	})
}

// gitRequest validates q: it allows only fetches from granted remotes, and from the URLs that they redirected to.
func (s *networkSession) gitRequest(q wire.GitRequest) (*http.Request, error) {
	u, err := url.Parse(q.URL)
	switch {
	case err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" || u.Fragment != "":
		return nil, errors.New("the URL is not an https URL of a git repository without user name and fragment")
	case gitPaths[q.Method] == "" || !strings.HasSuffix(u.Path, gitPaths[q.Method]) || u.RawQuery != gitQueries[q.Method]:
		return nil, errors.New("the request is not part of git's fetch protocol")
	case !s.network.any && !slices.Contains(s.network.remotes, base(u, gitPaths[q.Method])) && !slices.Contains(s.redirected, base(u, gitPaths[q.Method])):
		return nil, fmt.Errorf("%s is not a granted remote: add it to remotes of the plugin's git grant in the config", base(u, gitPaths[q.Method]))
	}
	request, err := http.NewRequestWithContext(s.ctx, q.Method, u.String(), strings.NewReader(string(q.Body)))
	if err != nil {
		return nil, err
	}
	for _, name := range gitHeaders {
		if value, ok := q.Header[name]; ok {
			request.Header.Set(name, value)
		}
	}
	return request, nil
}

// allowRedirect allows later requests to the repository that response redirects to, if it has the same origin.
func (s *networkSession) allowRedirect(request *http.Request, response *http.Response) {
	const suffix = "/info/refs"
	if response.StatusCode < 300 || response.StatusCode > 399 || request.Method != http.MethodGet || len(s.redirected) >= maxStreams {
		return
	}
	to, err := request.URL.Parse(response.Header.Get("Location"))
	if err == nil && originOf(to) == originOf(request.URL) && strings.HasSuffix(to.Path, suffix) {
		s.redirected = append(s.redirected, base(to, suffix))
	}
}

// read returns the next bytes of a stream, or no bytes at EOF.
func (s *networkSession) read(ctx context.Context, params []byte) ([]byte, error) {
	body, _, err := s.stream(params)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, s.cancel)()
	buffer := make([]byte, maxRead)
	n, err := io.ReadAtLeast(body, buffer, 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return buffer[:n], nil
}

func (s *networkSession) shut(params []byte) error {
	body, number, err := s.stream(params)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.streams, number)
	s.mu.Unlock()
	return body.Close()
}

func (s *networkSession) stream(params []byte) (io.ReadCloser, int, error) {
	number, err := strconv.Atoi(string(params))
	s.mu.Lock()
	defer s.mu.Unlock()
	body := s.streams[number]
	if err != nil || body == nil {
		return nil, 0, fmt.Errorf("no stream with the number %.20q is open", params)
	}
	return body, number, nil
}
