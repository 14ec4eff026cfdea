package gateway

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// outBuffer is a buffer that is safe for concurrent use.
type outBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *outBuffer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// lines returns and removes the lines in the buffer.
func (o *outBuffer) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.b.String()
	o.b.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// peer is the client of a session in a synctest bubble.
type peer struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *outBuffer
	cancel context.CancelFunc
	served chan error
}

func connect(t *testing.T, g *Gateway) *peer {
	t.Helper()
	out := &outBuffer{}
	p := connectTo(t, g, out)
	p.out = out
	return p
}

// connectTo starts a session that writes to out instead of the buffer of the peer, so that say returns no lines.
func connectTo(t *testing.T, g *Gateway, out io.Writer) *peer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	p := &peer{t: t, in: w, out: &outBuffer{}, cancel: cancel, served: make(chan error, 1)}
	go func() { p.served <- g.Serve(ctx, r, out) }()
	t.Cleanup(func() { cancel(); w.Close() })
	return p
}

// say sends lines, waits until all goroutines block, and returns the output.
func (p *peer) say(lines ...string) []string {
	p.t.Helper()
	if _, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Fatal(err)
	}
	synctest.Wait()
	return p.out.lines()
}

// hangUp ends the input and returns the error of Serve.
func (p *peer) hangUp() error {
	p.in.Close()
	return <-p.served
}

func newGateway(t testing.TB, config Config, backend Backend) *Gateway {
	t.Helper()
	if config.Name == "" {
		config.Name, config.Version = "fake", "1.2.3"
	}
	g, err := New(config, backend)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
