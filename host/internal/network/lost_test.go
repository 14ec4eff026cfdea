package network

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
)

// silentServer accepts a request and never answers.
type silentServer struct{ asked chan struct{} }

func (s silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	close(s.asked)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// The host cancels an operation when the worker that asked for it has ended. The call goes on then: it is
// answered, or made again.
func TestGitOpenEndsWithItsOperation(t *testing.T) {
	server := silentServer{make(chan struct{})}
	call, end := context.WithCancel(context.Background())
	defer end()
	session := New(Config{Remotes: []string{"https://git.example.com/a"}, Git: server}).Begin(call)
	operation, cancel := context.WithCancel(call)
	done := make(chan error, 1)
	go func() {
		params := []byte(`{"method":"GET","url":"https://git.example.com/a/info/refs?service=git-upload-pack"}`)
		_, err, _ := session.Do(operation, wire.Ask{Op: wire.OpGitOpen, Params: params})
		done <- err
	}()
	<-server.asked
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the operation was cancelled, and goes on for as long as the server likes")
	}
}

// A worker is hostile: what it may ask of a git server is the protocol, at the granted remote.
func TestGitRequestsReachTheGrantedRemoteOnly(t *testing.T) {
	n := New(Config{Remotes: []string{"https://git.example.com/team/notes"}})
	for _, q := range []wire.GitRequest{
		{Method: http.MethodGet, URL: "https://git.example.com/api/delete?id=1"},
		{Method: http.MethodGet, URL: "https://git.example.com/other/repo/info/refs?service=git-upload-pack"},
		{Method: http.MethodGet, URL: "https://git.example.com/team/notes/info/refs?service=git-receive-pack"},
		{Method: http.MethodPost, URL: "https://git.example.com/other/repo/git-upload-pack"},
	} {
		if _, err := n.Begin(t.Context()).gitRequest(q); err == nil {
			t.Errorf("%s %s may be sent", q.Method, q.URL)
		}
	}
}
