// Package network is what the host process does on the network for one plugin's calls: workers have no sockets. A
// Network belongs to a plugin; Network.Begin makes a Session for a call, whose Do performs an operation.
//
// The worker has judged a request already. It is hostile all the same, so everything is judged here again.
package network

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

	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Config says what a Network may reach.
type Config struct {
	Fetch *fetch.Fetcher
	// Remotes are the URLs of the granted git repositories, or "*" for any of the https ones.
	Remotes []string
	// Git sends requests to their servers.
	Git http.RoundTripper
}

// Network performs the operations of one plugin. It is safe for concurrent use.
type Network struct {
	config  Config
	any     bool
	remotes []string // in one form: see base
}

// New returns a Network. It connects to nothing.
func New(c Config) *Network {
	n := &Network{config: c}
	for _, remote := range c.Remotes {
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

// base is the repository that a URL of git's protocol belongs to, whose path ends with suffix.
func base(u *url.URL, suffix string) string {
	return originOf(u) + strings.TrimRight(strings.TrimSuffix(u.EscapedPath(), suffix), "/")
}

// Close closes connections that are kept. Sessions must have ended.
func (n *Network) Close() { n.config.Fetch.Close() }

// Session is what one call has open. Its operations come one at a time.
type Session struct {
	network *Network
	ctx     context.Context // of the call: an answer's body is read after the operation that opened it
	cancel  context.CancelFunc

	mu      sync.Mutex
	streams map[int]io.ReadCloser // bodies of git servers' answers
	last    int
	led     []string // repositories that servers redirected to, within their origin
}

// Begin makes the Session of a call. End must follow.
func (n *Network) Begin(ctx context.Context) *Session { return &Session{network: n, ctx: ctx} }

// End closes what is open still.
func (s *Session) End() {
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.streams {
		_ = body.Close() // it was only read
	}
	s.streams = nil
}

// Do performs an operation; false: it is none of the network's.
func (s *Session) Do(ctx context.Context, ask wire.Ask) (result []byte, err error, ok bool) {
	switch ask.Op {
	case abi.OpHTTPFetch:
		result, err = s.fetch(ctx, ask.Params)
	case wire.OpGitOpen:
		result, err = s.open(ctx, ask.Params)
	case wire.OpGitRead:
		result, err = s.read(ctx, ask.Params)
	case wire.OpGitShut:
		err = s.shut(ask.Params)
	default:
		return nil, nil, false
	}
	return result, err, true
}

func (s *Session) fetch(ctx context.Context, params []byte) ([]byte, error) {
	if err := rawjson.Bound(params, maxRequestValues, maxRequestDepth); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "http/fetch: " + err.Error()}
	}
	var request abi.HTTPRequest
	if err := json.Unmarshal(params, &request); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "http/fetch: the request cannot be read"}
	}
	response, err := s.network.config.Fetch.Fetch(ctx, request)
	if err != nil {
		return nil, err
	}
	return json.Marshal(response)
}

// Bounds of the values in a request, and of their nesting.
const (
	maxRequestValues = 1_000
	maxRequestDepth  = 16
)

// Bounds of a session with a git server.
const (
	maxStreams = 4         // bodies that are open at once
	maxRead    = 256 << 10 // bytes that one read gives
)

// gitPaths are how the paths of requests to a git server end.
var gitPaths = map[string]string{http.MethodGet: "/info/refs", http.MethodPost: "/git-upload-pack"}

// gitQueries are their queries.
var gitQueries = map[string]string{http.MethodGet: "service=git-upload-pack"}

// gitHeaders are what a worker may say in one.
var gitHeaders = []string{"User-Agent", "Accept", "Git-Protocol", "Content-Type"}

// open sends a request to a git server.
func (s *Session) open(ctx context.Context, params []byte) ([]byte, error) {
	if s.cancel == nil {
		s.ctx, s.cancel = context.WithCancel(s.ctx)
	}
	defer context.AfterFunc(ctx, s.cancel)() // the operation's end is that of the call, or of its worker
	if err := rawjson.Bound(params, maxRequestValues, maxRequestDepth); err != nil {
		return nil, err
	}
	var q wire.GitRequest
	if err := json.Unmarshal(params, &q); err != nil {
		return nil, errors.New("the request cannot be read")
	}
	request, err := s.gitRequest(q)
	if err != nil {
		return nil, err
	}
	answer, err := s.network.config.Git.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) >= maxStreams {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("more than %d answers of git servers are open", maxStreams)
	}
	if s.streams == nil {
		s.streams = map[int]io.ReadCloser{}
	}
	s.follow(request, answer)
	s.last++
	s.streams[s.last] = answer.Body
	return json.Marshal(wire.GitAnswer{
		Stream: s.last, Status: answer.StatusCode, ContentType: answer.Header.Get("Content-Type"), Location: answer.Header.Get("Location"),
	})
}

// gitRequest makes the request of a granted form.
func (s *Session) gitRequest(q wire.GitRequest) (*http.Request, error) {
	u, err := url.Parse(q.URL)
	switch {
	case err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" || u.Fragment != "":
		return nil, errors.New("the URL is not one of a git server's")
	case gitPaths[q.Method] == "" || !strings.HasSuffix(u.Path, gitPaths[q.Method]) || u.RawQuery != gitQueries[q.Method]:
		return nil, errors.New("the request is not one of git's protocol")
	case !s.network.any && !slices.Contains(s.network.remotes, base(u, gitPaths[q.Method])) && !slices.Contains(s.led, base(u, gitPaths[q.Method])):
		return nil, fmt.Errorf("%s is not a granted remote", base(u, gitPaths[q.Method]))
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

// follow allows what a server redirects to within its origin.
func (s *Session) follow(request *http.Request, answer *http.Response) {
	const suffix = "/info/refs"
	if answer.StatusCode < 300 || answer.StatusCode > 399 || request.Method != http.MethodGet || len(s.led) >= maxStreams {
		return
	}
	to, err := request.URL.Parse(answer.Header.Get("Location"))
	if err == nil && originOf(to) == originOf(request.URL) && strings.HasSuffix(to.Path, suffix) {
		s.led = append(s.led, base(to, suffix))
	}
}

// read gives the next bytes of an answer's body; none: it has ended.
func (s *Session) read(ctx context.Context, params []byte) ([]byte, error) {
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

func (s *Session) shut(params []byte) error {
	body, number, err := s.stream(params)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.streams, number)
	s.mu.Unlock()
	return body.Close()
}

func (s *Session) stream(params []byte) (io.ReadCloser, int, error) {
	number, err := strconv.Atoi(string(params))
	s.mu.Lock()
	defer s.mu.Unlock()
	body := s.streams[number]
	if err != nil || body == nil {
		return nil, 0, errors.New("there is no such stream")
	}
	return body, number, nil
}
