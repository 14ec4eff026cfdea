package gateway

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// heldCall is a Queued request that implements ResponseWritten.
type heldCall struct {
	spyBackend
	answered chan struct{}
}

func (c *heldCall) Find(call.Request) (Queued, *abi.Error) { return c, nil }
func (c *heldCall) ResponseWritten()                       { close(c.answered) }

func TestCallIsReleasedAfterItsResponseIsWritten(t *testing.T) {
	c := &heldCall{answered: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, client := io.Pipe()
	defer client.Close()
	out := &announcing{writing: make(chan struct{}), release: make(chan struct{})}
	go func() { _ = newGateway(t, Config{}, c).Serve(ctx, in, out) }()
	if _, err := io.WriteString(client, callLine("1", "any")+"\n"); err != nil {
		t.Fatal(err)
	}
	<-out.writing
	select {
	case <-c.answered:
		t.Error("ResponseWritten was called before the response was written")
	default:
	}
	close(out.release)
	select {
	case <-c.answered:
	case <-time.After(10 * time.Second):
		t.Error("ResponseWritten was not called")
	}
}

// announcing is an io.Writer that reports a Write, which blocks until release is closed.
type announcing struct{ writing, release chan struct{} }

func (a *announcing) Write(p []byte) (int, error) {
	close(a.writing)
	<-a.release
	return len(p), nil
}
