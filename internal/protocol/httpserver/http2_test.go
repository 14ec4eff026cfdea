package httpserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

// offeringHTTP2 returns a TLS configuration.
func offeringHTTP2(t *testing.T) *tls.Config {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}, NextProtos: []string{"h2", "http/1.1"}}
}

// TestHTTP2 makes requests of both eras on one connection, while streams are open, and checks that a shutdown ends all.
func TestHTTP2(t *testing.T) {
	const token = "0123456789abcdefghij"
	accepted := accepting(token)
	runOver(t, Config{Auth: accepted}, offeringHTTP2(t), func(t *testing.T, f *fixture) {
		accepted.Set(token, nil)
		body, headers := modernCall("echo", `{}`)
		headers = append(headers, authorization(token)...)
		r, err := f.send(t.Context(), http.MethodPost, Path, body, headers...)
		if err != nil || r.ProtoMajor != 2 || r.StatusCode != http.StatusOK {
			t.Fatalf("got %+v, %v", r, err)
		}
		r.Body.Close()
		o := f.openAll(token)
		f.post(body, headers...).want(t, http.StatusOK, "result")
		f.post(body).want(t, http.StatusUnauthorized, "")
		f.post(body, append(headers, "Host", "evil.example.com")...).want(t, http.StatusMisdirectedRequest, "Host")
		f.post(strings.Repeat(" ", maxReceived*2)+body, headers...).want(t, http.StatusOK, "result")
		f.g.Warn("bulkhead", "still here")
		o.stream.want("0-1", "still here")
		f.s.connections.mu.Lock()
		if n := len(f.s.connections.all); n != 1 {
			t.Errorf("%d connections", n)
		}
		f.s.connections.mu.Unlock()
		accepted.Set("", nil) // the token is revoked
		f.wantEnded(o)
	})
}

// waiting is an Authenticator that waits for ever about one token, as for an issuer that does not answer.
type waiting struct{ ofTokens }

func (w waiting) Authenticate(ctx context.Context, token, endpoint string) (*bearer.Access, error) {
	if token == "wait" {
		<-ctx.Done()
		return nil, nil
	}
	return w.ofTokens.Authenticate(ctx, token, endpoint)
}

// TestConnectionsOfHTTP2AreBounded checks that a connection beyond the bound is closed if its request is not known to have access, without
// the answer of HTTP/1.1, and that one with a call is not.
func TestConnectionsOfHTTP2AreBounded(t *testing.T) {
	const token = "0123456789abcdefghij"
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":path", Path}, {":authority", "localhost"}, {"authorization", "Bearer wait"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			t.Fatal(err)
		}
	}
	runOver(t, Config{Auth: waiting{accepting(token)}, MaxConnections: 2}, offeringHTTP2(t), func(t *testing.T, f *fixture) {
		body, headers := modernCall("hold", `{}`)
		held := make(chan answered, 1)
		go func() { held <- f.post(body, append(headers, authorization(token)...)...) }()
		<-f.b.started
		closed := make(chan string, 5)
		for i := range 5 {
			raw, err := f.net.dial(f.address)
			if err != nil {
				t.Fatal(err)
			}
			conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			defer conn.Close()
			go func() {
				received, _ := io.ReadAll(conn)
				closed <- string(received)
			}()
			framer := http2.NewFramer(conn, nil)
			if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(framer.WriteSettings(), framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields.Bytes(), EndStream: true, EndHeaders: true})); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if i > 0 { // the former one made room
				if received := <-closed; strings.Contains(received, "HTTP/1.1") {
					t.Errorf("got %q", received)
				}
			}
		}
		f.b.release <- struct{}{}
		(<-held).want(t, http.StatusOK, "result")
	})
}

// TestConnectionOfHTTP2IsClosedWithoutAnswer has a connection whose request has arrived, and whose handler has not begun.
func TestConnectionOfHTTP2IsClosedWithoutAnswer(t *testing.T) {
	for protocol, want := range map[string]string{"h2": "", "http/1.1": string(refusal)} {
		client, server := net.Pipe()
		conn := tls.Client(client, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
		defer conn.Close()
		received := make(chan string, 1)
		go func() {
			data, _ := io.ReadAll(conn)
			received <- string(data)
		}()
		accepted := tls.Server(server, offeringHTTP2(t))
		if err := accepted.Handshake(); err != nil {
			t.Fatal(err)
		}
		c := newConnections(1)
		c.end(accepted, &connection{state: http.StateActive})
		if got := <-received; got != want {
			t.Errorf("%s: got %q, want %q", protocol, got, want)
		}
		server.Close()
	}
}
