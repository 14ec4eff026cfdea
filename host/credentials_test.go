package host_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
)

func makeNamed(t *testing.T, f bearer.File, name string) string {
	t.Helper()
	token, _, err := f.New(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestNamedTokensAreReadAgain makes and revokes tokens while a server runs: at a reload, and when the file changes.
func TestNamedTokensAreReadAgain(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), withHTTP("tokens = true"))
	file := bearer.In(filepath.Join(w.Dir, "state", "bulkhead"))
	h := w.Open(t, w.Options())
	url, end := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0"})
	want := func(token string, status int) {
		t.Helper()
		if got, body := ask(t, http.DefaultClient, url, token); got != status {
			t.Errorf("%d %s, want %d", got, body, status)
		}
	}
	// await waits for the watcher: no reload is made.
	await := func(token string, status int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			got, _ := ask(t, http.DefaultClient, url, token)
			if got == status {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the status is still %d", got)
			}
		}
	}
	want("", http.StatusUnauthorized) // although there is no token yet
	ann := makeNamed(t, file, "ann")
	await(ann, http.StatusOK)
	bob := makeNamed(t, file, "bob")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(bob, http.StatusOK)
	if _, err := file.Revoke(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(ann, http.StatusUnauthorized)
	want(bob, http.StatusOK)
	if err := os.WriteFile(file.Path(), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(bob, http.StatusUnauthorized)
	_ = end()
	if log := w.Log.String(); !strings.Contains(log, "cannot be read again") || strings.Contains(log, ann) || strings.Contains(log, bob) {
		t.Errorf("the log is\n%s", log)
	}
	hosttest.WantUsage(t, h.ServeHTTP(t.Context(), host.HTTPOptions{Address: "127.0.0.1:0"}), file.Path(), "not a file of tokens")
}

// TestRefusalIsRecordedWithItsPrincipal has an expired token: whose it is was proved.
func TestRefusalIsRecordedWithItsPrincipal(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"))
	log := filepath.Join(w.Dir, "audit.jsonl")
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[http]\ntokens = true\n\n[audit]\nfile = '" + log + "'\n\n[[plugins]]\npath = '../plugins/a'\n"})
	past := time.Now().Add(-time.Hour)
	expired, made, err := bearer.In(filepath.Join(w.Dir, "state", "bulkhead")).New(t.Context(), "ann", &past)
	if err != nil {
		t.Fatal(err)
	}
	url, end := serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
	if status, body := ask(t, http.DefaultClient, url, expired); status != http.StatusUnauthorized || !strings.Contains(body, "the token has expired") {
		t.Errorf("%d %s", status, body)
	}
	_ = end()
	data, err := os.ReadFile(log)
	if record := string(data); err != nil || !strings.Contains(record, `"principal":"token:`+made.ID+`","address":"127.0.0.1"`) || !strings.Contains(record, `"code":"http_token"`) || strings.Contains(record, expired) {
		t.Errorf("%v: the audit log is\n%s", err, record)
	}
}

func TestReplacedTokenFileIsReadAgain(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), hosttest.Files{"work/token": token})
	h := w.Open(t, w.Options())
	url, end := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: filepath.Join(w.Dir, "work", "token")})
	for _, c := range []struct {
		content string
		former  int
		next    int
	}{{"the-next-token-of-the-server", 401, 200}, {"short", 401, 401}, {token, 200, 401}} {
		w.Write(t, hosttest.Files{"work/token": c.content})
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if status, _ := ask(t, http.DefaultClient, url, token); status != c.former {
			t.Errorf("%s: the former token has status %d, want %d", c.content, status, c.former)
		}
		if status, _ := ask(t, http.DefaultClient, url, "the-next-token-of-the-server"); status != c.next {
			t.Errorf("%s: the next token has status %d, want %d", c.content, status, c.next)
		}
	}
	_ = end()
}

// TestReplacedCertificateIsReadAgain checks that a pair that does not match, which is there while both files are being replaced, leaves the
// former one in use.
func TestReplacedCertificateIsReadAgain(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), withHTTP("hosts = ['example.com']"))
	o := host.HTTPOptions{Address: "127.0.0.1:0", CertFile: filepath.Join(w.Dir, "cert.pem"), KeyFile: filepath.Join(w.Dir, "key.pem")}
	former := writeCertificate(t, o.CertFile, o.KeyFile)
	h := w.Open(t, w.Options())
	url, end := serveHTTP(t, h, o)
	_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/mcp"))
	want := func(authorities *x509.CertPool) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: authorities},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
			},
		}}
		defer client.CloseIdleConnections()
		if status, body := ask(t, client, "https://example.com/mcp", ""); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	}
	reload := func() {
		t.Helper()
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want(former)
	next := writeCertificate(t, filepath.Join(w.Dir, "next.pem"), filepath.Join(w.Dir, "next.key"))
	if err := os.Rename(filepath.Join(w.Dir, "next.pem"), o.CertFile); err != nil {
		t.Fatal(err)
	}
	reload()
	want(former)
	if err := os.Rename(filepath.Join(w.Dir, "next.key"), o.KeyFile); err != nil {
		t.Fatal(err)
	}
	reload()
	want(next)
	_ = end()
}
