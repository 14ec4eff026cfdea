package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fake answers requests without a network.
type fake func(*http.Request) (*http.Response, error)

func (f fake) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body io.Reader, headers ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), ContentLength: -1}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// site answers from a table: a target of a redirect begins with "http", anything else is a body.
func site(pages map[string]string, seen *[]string) *Client {
	return &Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
		*seen = append(*seen, r.URL.String()+" "+r.Header.Get("Authorization"))
		page, ok := pages[r.URL.String()]
		switch {
		case !ok:
			return answer(404, strings.NewReader("")), nil
		case strings.HasPrefix(page, "http"), strings.HasPrefix(page, "/"), strings.HasPrefix(page, "ftp"), page == "":
			return answer(302, strings.NewReader("ignored"), "Location", page), nil
		}
		return answer(200, strings.NewReader(page)), nil
	})}
}

func TestDoFollowsRedirectsSafely(t *testing.T) {
	for name, c := range map[string]struct {
		pages map[string]string
		want  string // body, or part of the error
		seen  []string
	}{
		"to the same origin": {map[string]string{"https://a.example/x": "/y", "https://a.example/y": "body"}, "body",
			[]string{"https://a.example/x secret", "https://a.example/y secret"}},
		"to another host": {map[string]string{"https://a.example/x": "https://b.example/y", "https://b.example/y": "body"}, "body",
			[]string{"https://a.example/x secret", "https://b.example/y "}},
		"to another port": {map[string]string{"https://a.example/x": "https://a.example:444/y", "https://a.example:444/y": "body"}, "body",
			[]string{"https://a.example/x secret", "https://a.example:444/y "}},
		"to another host and back": {map[string]string{"https://a.example/x": "https://b.example/y", "https://b.example/y": "https://a.example/z", "https://a.example/z": "body"}, "body",
			[]string{"https://a.example/x secret", "https://b.example/y ", "https://a.example/z "}},
		"to the same host, spelled differently": {map[string]string{"https://a.example/x": "https://A.example:443/y", "https://A.example:443/y": "body"}, "body",
			[]string{"https://a.example/x secret", "https://A.example:443/y secret"}},
		"to plain HTTP":                 {map[string]string{"https://a.example/x": "http://a.example/y"}, "would be reached without TLS", []string{"https://a.example/x secret"}},
		"to plain HTTP on loopback":     {map[string]string{"https://a.example/x": "http://127.0.0.1/y"}, "which is not https", []string{"https://a.example/x secret"}},
		"to another scheme":             {map[string]string{"https://a.example/x": "ftp://a.example/y"}, "is not the URL of a web server", []string{"https://a.example/x secret"}},
		"to an address with a user":     {map[string]string{"https://a.example/x": "https://u:pass@b.example/y"}, "has a user name", []string{"https://a.example/x secret"}},
		"without an address":            {map[string]string{"https://a.example/x": ""}, "redirects without an address", []string{"https://a.example/x secret"}},
		"in a circle":                   {map[string]string{"https://a.example/x": "https://a.example/x"}, "redirects more than 5 times", nil},
		"to this machine":               {map[string]string{"https://a.example/x": "https://localhost/y", "https://localhost/y": "body"}, "redirects to this machine", []string{"https://a.example/x secret"}},
		"to an unspecified address":     {map[string]string{"https://a.example/x": "https://0.0.0.0/y", "https://0.0.0.0/y": "body"}, "redirects to this machine", []string{"https://a.example/x secret"}},
		"to one of IPv6":                {map[string]string{"https://a.example/x": "https://[::]/y", "https://[::]/y": "body"}, "redirects to this machine", []string{"https://a.example/x secret"}},
		"to a name below localhost":     {map[string]string{"https://a.example/x": "https://b.LOCALHOST/y", "https://b.LOCALHOST/y": "body"}, "redirects to this machine", []string{"https://a.example/x secret"}},
		"to an address of this machine": {map[string]string{"https://a.example/x": "https://127.0.0.1/y", "https://127.0.0.1/y": "body"}, "redirects to this machine", []string{"https://a.example/x secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			r, err := http.NewRequest(http.MethodGet, "https://a.example/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "secret")
			got := ""
			response, err := site(c.pages, &seen).Do(r)
			if err == nil {
				body, rerr := ReadAll(response.Body, 100)
				got, err = string(body), errors.Join(rerr, response.Body.Close())
			}
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "pass") {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.seen != nil && fmt.Sprint(seen) != fmt.Sprint(c.seen) {
				t.Errorf("requests %q, want %q", seen, c.seen)
			}
		})
	}
}

func TestPlainHTTPIsForLoopbackOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://a.example/x": true, "http://localhost:5000/x": true, "http://127.0.0.1/x": true, "http://[::1]:80/x": true, "http://127.8.9.1/x": true,
		"http://a.example/x": false, "http://10.0.0.1/x": false, "http://localhost.a.example/x": false, "http://0.0.0.0/x": false, "http://127.1/x": false,
		"http://169.254.169.254/x": false, "file:///x": false, "https:///x": false, "https://u@a.example/x": false, "http://2130706433/": false,
	} {
		sent := false
		c := &Client{Transport: fake(func(*http.Request) (*http.Response, error) {
			sent = true
			return answer(200, strings.NewReader("body")), nil
		})}
		if got, err := c.Get(t.Context(), address, 100); (err == nil) != ok || sent != ok || ok && string(got) != "body" {
			t.Errorf("%s: got %q, %v, sent %t", address, got, err, sent)
		}
	}
	if err := loopbackOnly("tcp", "192.0.2.1:80", nil); err == nil {
		t.Error("a name that resolves to a public address was dialed by plain HTTP")
	}
	if err := loopbackOnly("tcp", "[::1]:80", nil); err != nil {
		t.Error(err)
	}
}

func TestGetOverRealConnections(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/truncated":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "part")
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 101))
		case "/ok":
			_, _ = io.WriteString(w, strings.Repeat("x", 100))
		case "/header":
			for i := range 300 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1<<10))
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer plain.Close()
	untrusted := httptest.NewTLSServer(plain.Config.Handler)
	defer untrusted.Close()
	var last, total int64
	c := &Client{Progress: func(d, of int64) { last, total = d, of }}
	if got, err := c.Get(t.Context(), plain.URL+"/ok", 100); len(got) != 100 || err != nil || last != 100 || total != 100 {
		t.Errorf("got %d bytes, %v; progress %d of %d", len(got), err, last, total)
	}
	for address, want := range map[string]string{
		plain.URL + "/truncated": "the server ended the connection after 4 bytes, before the end",
		plain.URL + "/large":     "the server sends more than 100 bytes",
		plain.URL + "/header":    "server response headers exceeded",
		plain.URL + "/absent":    "answers with status 404 (Not Found)",
		untrusted.URL + "/ok":    "certificate signed by unknown authority",
	} {
		if _, err := c.Get(t.Context(), address, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
	status := (*StatusError)(nil)
	if _, err := c.Get(t.Context(), plain.URL+"/absent", 100); !errors.As(err, &status) || status.Status != 404 {
		t.Errorf("got %v", err)
	}
}

// slow is a body that sends a byte at each interval until it has sent count bytes, and then nothing.
type slow struct {
	ctx      context.Context
	interval time.Duration
	count    int
}

func (s *slow) Read(p []byte) (int, error) {
	wait := time.NewTimer(s.interval)
	defer wait.Stop()
	if s.count == 0 {
		wait.Stop()
	}
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-wait.C:
		s.count--
		p[0] = 'x'
		return 1, nil
	}
}

func TestTransferEndsIfItStalls(t *testing.T) {
	for name, c := range map[string]struct {
		interval time.Duration
		count    int
		want     error
		after    time.Duration
	}{
		"a server that stops":       {time.Second, 10, ErrStalled, 10*time.Second + stallTime},
		"one that sends nothing":    {time.Second, 0, ErrStalled, stallTime},
		"one that never ends":       {stallTime - time.Second, 1 << 30, ErrTooLong, totalTime},
		"one that sends too seldom": {stallTime + time.Second, 1 << 30, ErrStalled, stallTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				client := &Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
					return answer(200, &slow{r.Context(), c.interval, c.count}), nil
				})}
				if _, err := client.Get(t.Context(), "https://a.example/", 1<<40); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if got := time.Since(start); got != c.after {
					t.Errorf("ended after %s, want %s", got, c.after)
				}
			})
		})
	}
}

func TestTransferEndsIfServerDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &Client{Transport: fake(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		if _, err := client.Get(t.Context(), "https://a.example/", 10); !errors.Is(err, ErrStalled) {
			t.Errorf("got %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		if _, err := client.Get(ctx, "https://a.example/", 10); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestUploadThatProgressesIsNotStalled sends a body that takes longer than the time after which a transfer has stalled.
func TestUploadThatProgressesIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done int64
		client := &Client{Progress: func(d, _ int64) { done = d }, Transport: fake(func(r *http.Request) (*http.Response, error) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return nil, err
			}
			return answer(201, strings.NewReader("")), r.Body.Close()
		})}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://a.example/", io.LimitReader(&slow{t.Context(), 10 * time.Second, 100}, 20))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil || response.StatusCode != 201 || done != 20 {
			t.Fatalf("got %v, %v, %d bytes", response, err, done)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
	})
}
