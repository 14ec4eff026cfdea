package traces

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
)

// TestHeadersAreReadForEachRequest has a token end and be replaced. It is in no log, not even if the collector repeats it. What the collector states is
// not changed otherwise, although the letter of a short header is in it.
func TestHeadersAreReadForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		var log bytes.Buffer
		var mu sync.Mutex // of the next two
		header, readError := "Bearer first-secret", error(nil)
		e := New(Config{
			To: "https://collector.example", Log: hclog.New(&hclog.LoggerOptions{Output: &log}),
			Headers: func() (http.Header, error) {
				mu.Lock()
				defer mu.Unlock()
				return http.Header{"Authorization": {header}, "X-Scope-Orgid": {"s"}}, readError
			},
			Client: download.Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r.Header.Get("Authorization")+" "+r.Header.Get("Content-Type"))
				switch len(sent) {
				case 1: // the first failure is the one that is logged
					return answer(r, 200, `{"partialSuccess":{"rejectedSpans":1,"errorMessage":"first-secret, that is Bearer first-secret, has no quota"}}`), nil
				case 2:
					return answer(r, 401, ""), nil
				}
				return answer(r, 200, "{}"), nil
			})},
		})
		add := func() {
			e.Add(spans(1))
			time.Sleep(2 * gather)
		}
		change := func(h string, err error) {
			mu.Lock()
			defer mu.Unlock()
			header, readError = h, err
		}
		add()
		change("Bearer second-secret", nil)
		add()
		change("", errors.New("it is being replaced"))
		add()
		change("Bearer third-secret", nil)
		time.Sleep(time.Minute)
		e.Close(t.Context())
		want := "Bearer first-secret application/json|Bearer second-secret application/json|Bearer third-secret application/json"
		if got := strings.Join(sent, "|"); got != want || e.Stats() != (Stats{Sent: 1, Dropped: 2}) {
			t.Errorf("sent %s: %+v", got, e.Stats())
		}
		if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "has no quota") {
			t.Errorf("logged %s", text)
		}
	})
}

// TestInvalidAnswersAreNotQuoted has a collector repeat the token where errors of package http quote it.
func TestInvalidAnswersAreNotQuoted(t *testing.T) {
	const token = "Bearer some-secret-token"
	for name, text := range map[string]string{
		"header":            "HTTP/1.1 200 OK\r\n" + token + "\r\n\r\n",
		"length":            "HTTP/1.1 200 OK\r\nContent-Length: " + token + "\r\n\r\n",
		"transfer encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + token + "\r\n\r\n",
		"status":            token + "\r\n\r\n",
		"end":               "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(c, text)
				}
				_ = c.Close()
			}
		}()
		var log bytes.Buffer
		e := New(Config{
			To: "http://" + l.Addr().String(), Log: hclog.New(&hclog.LoggerOptions{Output: &log}),
			Headers: func() (http.Header, error) { return http.Header{"Authorization": {token}}, nil },
		})
		e.Add(spans(1))
		e.Close(t.Context())
		_ = l.Close()
		if got := log.String(); strings.Contains(got, "secret") || !strings.Contains(got, "reason=") {
			t.Errorf("%s: logged %s", name, got)
		}
	}
}
