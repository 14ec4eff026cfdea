package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// gitServer responds to every request with a body.
type gitServer struct {
	body     string
	requests []*http.Request
}

func (s *gitServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"a/b"}}, Body: io.NopCloser(strings.NewReader(s.body))}, nil
}

func doNetwork(t *testing.T, s *networkSession, op string, params any) (string, error) {
	t.Helper()
	text, isText := params.(string)
	if !isText {
		encoded, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	result, err, known := s.do(t.Context(), wire.Operation{Op: op, Params: []byte(text)})
	if !known {
		t.Fatalf("Do does not accept the operation %s", op)
	}
	return string(result), err
}

const refs = "/info/refs?service=git-upload-pack"

// TestGitRequestsAreValidated sends the requests of a compromised worker.
func TestGitRequestsAreValidated(t *testing.T) {
	for name, c := range map[string]struct {
		remotes string
		request wire.GitRequest
		ok      bool
	}{
		"the list of references":      {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://example.com/r" + refs}, true},
		"a pack":                      {"https://example.com/r", wire.GitRequest{Method: "POST", URL: "https://example.com/r/git-upload-pack"}, true},
		"any remote":                  {"*", wire.GitRequest{Method: "GET", URL: "https://other.example/r" + refs}, true},
		"the default port":            {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://EXAMPLE.com:443/r" + refs}, true},
		"another origin":              {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://other.example/r" + refs}, false},
		"another port":                {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://example.com:8443/r" + refs}, false},
		"no TLS":                      {"*", wire.GitRequest{Method: "GET", URL: "http://example.com/r" + refs}, false},
		"a user":                      {"*", wire.GitRequest{Method: "GET", URL: "https://me@example.com/r" + refs}, false},
		"another repository":          {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://example.com/other" + refs}, false},
		"a pack of another one":       {"https://example.com/r", wire.GitRequest{Method: "POST", URL: "https://example.com/other/git-upload-pack"}, false},
		"another path":                {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://example.com/secret"}, false},
		"another query":               {"https://example.com/r", wire.GitRequest{Method: "GET", URL: "https://example.com/r/info/refs?service=git-receive-pack"}, false},
		"a push":                      {"https://example.com/r", wire.GitRequest{Method: "POST", URL: "https://example.com/r/git-receive-pack"}, false},
		"a query of a pack":           {"https://example.com/r", wire.GitRequest{Method: "POST", URL: "https://example.com/r/git-upload-pack?x"}, false},
		"another method":              {"*", wire.GitRequest{Method: "PUT", URL: "https://example.com/r" + refs}, false},
		"no URL":                      {"*", wire.GitRequest{Method: "GET", URL: "::"}, false},
		"an opaque one":               {"*", wire.GitRequest{Method: "GET", URL: "https:example.com" + refs}, false},
		"no remote is granted at all": {"", wire.GitRequest{Method: "GET", URL: "https://example.com/r" + refs}, false},
	} {
		t.Run(name, func(t *testing.T) {
			git := &gitServer{}
			var remotes []string
			if c.remotes != "" {
				remotes = []string{c.remotes}
			}
			c.request.Header = map[string]string{"Accept": "x", "Authorization": "secret", "Host": "other", "Cookie": "y"}
			s := newNetwork(nil, git, remotes).begin(t.Context())
			defer s.end()
			_, err := doNetwork(t, s, wire.OpGitOpen, c.request)
			if (err == nil) != c.ok || (len(git.requests) == 1) != c.ok {
				t.Errorf("got the error %v after %d requests; want one request if the request is valid, and otherwise an error and none", err, len(git.requests))
			}
			if c.ok && (len(git.requests[0].Header) != 1 || git.requests[0].Host != git.requests[0].URL.Host) {
				t.Errorf("the request has the headers %v and the host %q; want one permitted header and the host of the URL", git.requests[0].Header, git.requests[0].Host)
			}
		})
	}
}

func TestStreamsAreReadInChunks(t *testing.T) {
	git := &gitServer{body: strings.Repeat("x", maxRead+7)}
	s := newNetwork(nil, git, []string{"*"}).begin(t.Context())
	defer s.end()
	head, err := doNetwork(t, s, wire.OpGitOpen, wire.GitRequest{Method: "GET", URL: "https://example.com/r" + refs})
	var answer wire.GitAnswer
	if err != nil || json.Unmarshal([]byte(head), &answer) != nil || answer.Status != 200 || answer.ContentType != "a/b" {
		t.Fatalf("opening a stream returned %s, %v; want the status 200 and the type a/b", head, err)
	}
	stream := fmt.Sprint(answer.Stream)
	read := 0
	for {
		chunk, err := doNetwork(t, s, wire.OpGitRead, stream)
		if err != nil {
			t.Fatal(err)
		}
		if chunk == "" {
			break
		}
		if read += len(chunk); len(chunk) > maxRead {
			t.Errorf("a read returned %d bytes, want at most %d", len(chunk), maxRead)
		}
	}
	if read != len(git.body) {
		t.Errorf("read %d bytes in total, want %d", read, len(git.body))
	}
	if _, err := doNetwork(t, s, wire.OpGitShut, stream); err != nil {
		t.Error(err)
	}
	for _, op := range []string{wire.OpGitRead, wire.OpGitShut} {
		if _, err := doNetwork(t, s, op, stream); err == nil {
			t.Errorf("%s of a closed stream succeeded", op)
		}
	}
}

func TestStreamsAreBoundedAndClosedByEnd(t *testing.T) {
	s := newNetwork(nil, &gitServer{}, []string{"*"}).begin(t.Context())
	opened := 0
	for range 2 * maxStreams {
		if _, err := doNetwork(t, s, wire.OpGitOpen, wire.GitRequest{Method: "GET", URL: "https://example.com/r" + refs}); err == nil {
			opened++
		}
	}
	if opened != maxStreams {
		t.Errorf("%d streams were opened, want %d", opened, maxStreams)
	}
	s.end()
	if len(s.streams) > 0 || s.ctx.Err() != context.Canceled {
		t.Errorf("after End %d streams are open, want none; error of the context: %v", len(s.streams), s.ctx.Err())
	}
}

func TestDoRejectsUnknownOperations(t *testing.T) {
	s := newNetwork(nil, nil, nil).begin(t.Context())
	defer s.end()
	if _, _, known := s.do(t.Context(), wire.Operation{Op: "lock"}); known {
		t.Error("Do accepts the operation lock, which is not a network operation")
	}
}
