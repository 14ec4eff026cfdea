package dispatch

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// silentServer accepts a request and never responds.
type silentServer struct{ requested chan struct{} }

func (s silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	close(s.requested)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestGitOpenIsCancelledWithOperation cancels the operation but not the call, as the host does when a worker exits: the call
// then fails or is retried in another worker.
func TestGitOpenIsCancelledWithOperation(t *testing.T) {
	server := silentServer{make(chan struct{})}
	call, end := context.WithCancel(context.Background())
	defer end()
	session := newNetwork(nil, server, []string{"https://git.example.com/a"}).begin(call)
	operation, cancel := context.WithCancel(call)
	done := make(chan error, 1)
	go func() {
		params := []byte(`{"method":"GET","url":"https://git.example.com/a/info/refs?service=git-upload-pack"}`)
		_, err, _ := session.do(operation, wire.Operation{Op: wire.OpGitOpen, Params: params})
		done <- err
	}()
	<-server.requested
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestGitRequestRefusesUngrantedRemotes(t *testing.T) {
	n := newNetwork(nil, nil, []string{"https://git.example.com/team/notes"})
	for _, q := range []wire.GitRequest{
		{Method: http.MethodGet, URL: "https://git.example.com/api/delete?id=1"},
		{Method: http.MethodGet, URL: "https://git.example.com/other/repo/info/refs?service=git-upload-pack"},
		{Method: http.MethodGet, URL: "https://git.example.com/team/notes/info/refs?service=git-receive-pack"},
		{Method: http.MethodPost, URL: "https://git.example.com/other/repo/git-upload-pack"},
	} {
		if _, err := n.begin(t.Context()).gitRequest(q); err == nil {
			t.Errorf("gitRequest allows %s %s", q.Method, q.URL)
		}
	}
}
