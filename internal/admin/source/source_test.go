package source

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	inprocess "github.com/google/go-containerregistry/pkg/registry"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

var sum = strings.Repeat("ab", 32)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	packed := filepath.Join(dir, "it.tar")
	if err := os.WriteFile(packed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"plugins/it":                            dir + "/plugins/it",
		"/opt/it/":                              "/opt/it",
		"it.tar":                                "file:" + packed,
		packed:                                  "file:" + packed,
		"file:it.tar":                           "file:" + packed,
		"file:/x/../it.tar":                     "file:/it.tar",
		"file:///it.tar":                        "file:/it.tar",
		"file:/it.tar#sha256=" + sum:            "file:/it.tar#sha256=" + sum,
		"https://h.example/a.tar#sha256=" + sum: "https://h.example/a.tar#sha256=" + sum,
		"https://h.example/a.tar?x=1#sha256=" + strings.ToUpper(sum): "https://h.example/a.tar?x=1#sha256=" + sum,
		"http://127.0.0.1:80/a#sha256=" + sum:                        "http://127.0.0.1:80/a#sha256=" + sum,
		"http://[::1]/a#sha256=" + sum:                               "http://[::1]/a#sha256=" + sum,
		"http://localhost/a#sha256=" + sum:                           "http://localhost/a#sha256=" + sum,
		"oci://h.example/team/it:1.0.0":                              "oci://h.example/team/it:1.0.0",
		"oci://h.example/it:1.0.0@sha256:" + sum:                     "oci://h.example/it:1.0.0@sha256:" + sum,
	} {
		r, err := Parse(text, dir)
		if err != nil || r.String() != want {
			t.Errorf("%s: got %s, %v; want %s", text, r, err, want)
			continue
		}
		if again, err := Parse(r.String(), "/"); err != nil || again.String() != want {
			t.Errorf("%s read again is %s, %v", want, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "is empty",
		"a\x1b[0m":                         "invisible characters",
		"file:":                            "has no path",
		"file://host/x":                    "names a host",
		"file:/x#sha256=12":                "is not the digest",
		"file:/x#md5=" + sum:               "is not the digest",
		"https://h.example/a.tar":          "has no digest",
		"https://h.example/a.tar#" + sum:   "is not the digest",
		"https:///a#sha256=" + sum:         "has no host",
		"https://h.example:x/#sha256=":     "not a URL",
		"http://h.example/a#sha256=" + sum: "is not encrypted",
		"http://127.0.0.1.example/a#sha256=" + sum:   "is not encrypted",
		"https://me:secret@h.example/#sha256=" + sum: "contains a user name or password",
		"ftp://h.example/a":                          "ftp:// are not supported",
	} {
		r, err := Parse(text, "/")
		if err == nil {
			t.Errorf("%s is accepted as %s", text, r)
			continue
		}
		hosttest.WantUsage(t, err, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestFetchFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it.tar")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Fetcher{}
	if got, err := f.Fetch(t.Context(), Reference{Kind: File, Path: file}); err != nil || string(got.Archive) != "content" || got.Signature != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for want, r := range map[string]Reference{
		"and the reference names " + sum: {Kind: File, Path: file, SHA256: sum},
		"no such file":                   {Kind: File, Path: file + "x"},
		"not a regular file":             {Kind: File, Path: filepath.Dir(file)},
	} {
		_, err := f.Fetch(t.Context(), r)
		hosttest.WantUsage(t, err, want, r.Label())
	}
	if err := os.Truncate(file, archive.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	_, err := f.Fetch(t.Context(), Reference{Kind: File, Path: file})
	hosttest.WantUsage(t, err, "more than the 96 MiB")
}

// fetch fetches from a server with the handler, which speaks TLS with a certificate that the fetcher trusts.
func fetch(t *testing.T, handler http.HandlerFunc) ([]byte, error) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	r, err := Parse(fmt.Sprintf("%s/it.tar#sha256=%x", server.URL, sha256.Sum256([]byte("content"))), "/")
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Fetcher{Transport: server.Client().Transport}).Fetch(t.Context(), r)
	if err != nil {
		return nil, err
	}
	return got.Archive, nil
}

func TestFetchHTTPS(t *testing.T) {
	data, err := fetch(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/it.tar" {
			http.Redirect(w, r, "/moved.tar", http.StatusFound)
			return
		}
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" || r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("the request has the header %v", r.Header)
		}
		_, _ = io.WriteString(w, "content")
	})
	if err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestHostileServersAreRefused(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") }))
	defer plain.Close()
	endless := make([]byte, 1<<20)
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"other bytes":     {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "other") }, "and the reference names"},
		"no such file":    {http.NotFound, "answers with status 404 (Not Found)"},
		"partial content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPartialContent) }, "answers with status 206"},
		"a plain redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://h.example/x", http.StatusFound)
		}, "h.example would be reached without TLS"},
		"another scheme": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "is not the URL of a web server"},
		"endless redirects":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, "redirects more than 5 times"},
		"a compressed archive": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") }, "compressed"},
		"a huge length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(archive.MaxSize+1))
		}, "more than 100663296 bytes"},
		"endless content": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(endless); err != nil {
					return
				}
			}
		}, "more than 100663296 bytes"},
		"a truncated archive": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "content")
		}, "the server ended the connection after 7 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fetch(t, c.handler)
			hosttest.WantUsage(t, err, c.want)
		})
	}
	t.Run("a certificate that is not trusted", func(t *testing.T) {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = nil
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		server.StartTLS()
		defer server.Close()
		r, err := Parse(server.URL+"/it.tar#sha256="+sum, "/")
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&Fetcher{}).Fetch(t.Context(), r)
		hosttest.WantUsage(t, err, "certificate")
	})
}

// trickle is a server whose body gives a byte at each interval, and never ends.
type trickle struct{ interval time.Duration }

func (s trickle) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: &slowBody{r.Context(), s.interval}}, nil
}

type slowBody struct {
	ctx      context.Context
	interval time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	select {
	case <-time.After(b.interval):
		p[0] = 'x'
		return 1, nil
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *slowBody) Close() error { return nil }

// silent is a server that accepts the request and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestDownloadIsBoundedInTime(t *testing.T) {
	r, err := Parse("https://h.example/it.tar#sha256="+sum, "/")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		server http.RoundTripper
		want   string
	}{
		"a server that does not answer": {silent{}, "the server sent or accepted nothing for 30s"},
		"a download that stalls":        {trickle{31 * time.Second}, "the server sent or accepted nothing for 30s"},
		"a download that never ends":    {trickle{29 * time.Second}, "not complete after 20m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := (&Fetcher{Transport: c.server}).Fetch(t.Context(), r)
				hosttest.WantUsage(t, err, c.want)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("interrupted")) })
		if _, err := (&Fetcher{Transport: silent{}}).Fetch(ctx, r); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("got %v", err)
		}
	})
}

func TestErrorsDoNotContainTheQuery(t *testing.T) {
	r, err := Parse("https://h.example/it.tar?token=secret#sha256="+sum, "/")
	if err != nil {
		t.Fatal(err)
	}
	fails := transport(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })
	_, err = (&Fetcher{Transport: fails}).Fetch(t.Context(), r)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "no route") {
		t.Errorf("got %v", err)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestFetchSignatureOfFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "it.tar")
	testenv.WriteFile(t, file, "content")
	testenv.WriteFile(t, file+".minisig", "signature")
	r := Reference{Kind: File, Path: file}
	if got, err := (&Fetcher{}).Fetch(t.Context(), r); err != nil || string(got.Signature) != "signature" || got.From.String() != r.String() {
		t.Errorf("%+v, %v", got, err)
	}
	testenv.WriteFile(t, file+".minisig", strings.Repeat("x", signature.MaxSize+1))
	_, err := (&Fetcher{}).Fetch(t.Context(), r)
	hosttest.WantUsage(t, err, "its signature: ", "too large")
}

func TestFetchSignatureFromServer(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string // signature
		err    string
	}{
		"a signature":       {200, "signature", "signature", ""},
		"none":              {404, "not found", "", ""},
		"a server error":    {500, "", "", "answers with status 500"},
		"a large signature": {200, strings.Repeat("x", signature.MaxSize+1), "", "its signature: the server sends more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.String() {
				case "/it.tar?token=x":
					_, _ = io.WriteString(w, "content")
				case "/it.tar.minisig?token=x":
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
				default:
					t.Errorf("asked for %s", r.URL)
				}
			}))
			defer server.Close()
			r, err := Parse(fmt.Sprintf("%s/it.tar?token=x#sha256=%x", server.URL, sha256.Sum256([]byte("content"))), "/")
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&Fetcher{Transport: server.Client().Transport}).Fetch(t.Context(), r)
			if c.err != "" {
				hosttest.WantUsage(t, err, c.err)
			} else if err != nil || string(got.Archive) != "content" || string(got.Signature) != c.want || got.Signature == nil != (c.want == "") {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestFetchFromRegistry(t *testing.T) {
	server := httptest.NewServer(inprocess.New(inprocess.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	text := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/team/it:1.0.0"
	r, err := Parse(text, "/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Fetcher{}).Fetch(t.Context(), r)
	hosttest.WantUsage(t, err, text+": the registry does not have it")
	digest, err := (&registry.Client{}).Push(t.Context(), r.OCI, registry.Artifact{Title: "it", Version: "1.0.0", Content: []byte("content"), Signature: []byte("signature")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := (&Fetcher{}).Fetch(t.Context(), r)
	if err != nil || string(got.Archive) != "content" || string(got.Signature) != "signature" || got.From.String() != text+"@"+digest {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Parse("oci://a.example/it", "/"); err == nil || !strings.Contains(err.Error(), "has neither tag nor digest") {
		t.Errorf("got %v", err)
	}
}
