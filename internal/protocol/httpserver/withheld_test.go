package httpserver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// withhold opens connections with a request whose body does not arrive.
func (f *fixture) withhold(connections int, request string) (close func()) {
	f.t.Helper()
	var open []net.Conn
	for range connections {
		c, err := f.net.dial(f.address)
		if err != nil {
			f.t.Fatal(err)
		}
		open = append(open, c)
		go func() { _, _ = io.WriteString(c, request) }()
		synctest.Wait()
	}
	return func() {
		for _, c := range open {
			c.Close()
		}
		time.Sleep(time.Second) // package http closes connections in two steps
	}
}

// TestRefusedRequestsWithoutTheirBodyDoNotKeepOthersOut checks that clients without a token cannot hold connections by requests
// that are refused before their body has arrived.
func TestRefusedRequestsWithoutTheirBodyDoNotKeepOthersOut(t *testing.T) {
	const token = "0123456789abcdefghij"
	for _, request := range []string{
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		"POST /mcp HTTP/1.1\r\nHost: evil.example.com\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 1000\r\n\r\n{",
		"POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
	} {
		run(t, Config{Auth: accepting(token), MaxConnections: 10}, func(t *testing.T, f *fixture) {
			defer f.withhold(30, request)()
			body, headers := modernCall("echo", `{}`)
			f.post(body, append(headers, "Authorization", "Bearer "+token)...).want(t, http.StatusOK, "result")
			if got := f.raw(request); !strings.HasPrefix(got, "HTTP/1.1 ") { // and then the connection is closed
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestWithheldBodiesDoNotKeepOthersOut checks that the memory of bodies is not counted before they arrive, and that any number of
// bodies may be on their way.
func TestWithheldBodiesDoNotKeepOthersOut(t *testing.T) {
	for connections, length := range map[int]int{8: gateway.DefaultMaxLine - 1, maxRequests + 8: 1000} {
		run(t, Config{}, func(t *testing.T, f *fixture) {
			defer f.withhold(connections, rawHead+fmt.Sprintf("Content-Length: %d\r\n\r\n{", length))()
			body, headers := modernCall("echo", `{}`)
			f.post(body, headers...).want(t, http.StatusOK, "result")
		})
	}
}

// TestLargeBodiesThatStopDoNotKeepSmallOnesOut checks that requests are handled while bodies of other clients take all the memory
// that bodies may take.
func TestLargeBodiesThatStopDoNotKeepSmallOnesOut(t *testing.T) {
	run(t, Config{MaxBody: 5 << 20}, func(t *testing.T, f *fixture) {
		const length = 4<<20 - 1
		defer f.withhold(8, rawHead+fmt.Sprintf("Content-Length: %d\r\n\r\n%s", length, strings.Repeat(" ", length-1)))()
		body, headers := modernCall("echo", `{}`)
		f.post(body, headers...).want(t, http.StatusOK, "result")
		f.post(body+strings.Repeat(" ", 4<<20), headers...).want(t, http.StatusServiceUnavailable, "memory")
		if used := f.s.bodies.used.Load(); used > f.s.bodies.max {
			t.Errorf("%d bytes are counted, and the limit is %d", used, f.s.bodies.max)
		}
	})
}
