package httpserver

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// TestRequestsBeyondTheConnectionsAreAnswered sends requests on more connections than the server accepts. Each must be answered, and those
// that are refused must have no effect.
func TestRequestsBeyondTheConnectionsAreAnswered(t *testing.T) {
	const max, all = 4, 40
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			b := newBackend()
			g, err := gateway.New(gateway.Config{Name: "fake", Version: "1", Tools: tools, Offers: offers}, b)
			if err != nil {
				t.Fatal(err)
			}
			s := New(Config{Gateway: g, MaxConnections: max})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			dial := func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
			served := l
			if scheme == "https" {
				served = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}})
				dial = func() (net.Conn, error) {
					return tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, served, func() time.Duration { return 0 }) }()
			defer func() { stop(); <-ended }()

			body, headers := modernCall("echo", `{}`)
			head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
			for i := 0; i < len(headers); i += 2 {
				head += headers[i] + ": " + headers[i+1] + "\r\n"
			}
			request := head + "Content-Type: application/json\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
			var conns []net.Conn
			for range all { // the last byte of each is missing
				conn, err := dial()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, request[:len(request)-1]); err != nil {
					t.Fatal(err)
				}
				s.awaitActive(t, conn.LocalAddr())
				conns = append(conns, conn)
			}
			answered, refused := 0, 0
			for _, conn := range conns {
				_, _ = io.WriteString(conn, request[len(request)-1:])
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				r, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("a request was not answered: %v", err)
				}
				text, err := io.ReadAll(r.Body)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case r.StatusCode == http.StatusOK:
					answered++
				case r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "" && strings.Contains(string(text), "too many connections"):
					refused++
				default:
					t.Errorf("got %s: %s", r.Status, text)
				}
			}
			if answered != max || refused != all-max || len(b.requests) != answered {
				t.Errorf("%d requests were answered and %d refused, want %d and %d; %d were executed", answered, refused, max, all-max, len(b.requests))
			}
			if got := s.Stats().Refused[refusedConnections]; got < int64(refused) {
				t.Errorf("%d connections are counted as refused, want %d", got, refused)
			}
		})
	}
}

// awaitActive waits until the request of the client with an address begins to arrive.
func (s *Server) awaitActive(t *testing.T, client net.Addr) {
	t.Helper()
	isActive := func() bool {
		s.connections.mu.Lock()
		defer s.connections.mu.Unlock()
		for conn, c := range s.connections.all {
			if conn.RemoteAddr().String() == client.String() && c.state == http.StateActive {
				return true
			}
		}
		return false
	}
	for end := time.Now().Add(time.Minute); !isActive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a connection was not accepted")
		}
	}
}

// selfSigned returns a certificate for one test.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}
