package host_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

const token = "a-token-of-some-length"

// withHTTP returns a config with one plugin, whose table [http] has the given keys.
func withHTTP(keys string) hosttest.Files {
	return hosttest.Files{"work/bulkhead.toml": "[http]\n" + keys + "\n[[plugins]]\npath = '../plugins/a'\n"}
}

// serveHTTP serves h over HTTP and returns the server's URL. The function end ends the server and returns the error of ServeHTTP.
func serveHTTP(t testing.TB, h *host.Host, o host.HTTPOptions) (url string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listening, served := make(chan string, 1), make(chan error, 1)
	o.Listening = func(url string) { listening <- url }
	go func() { served <- h.ServeHTTP(ctx, o) }()
	end = func() error { cancel(); return <-served }
	select {
	case url = <-listening:
	case err := <-served:
		t.Fatal(err)
	}
	return url, end
}

// ask sends the request tools/list to a server. If token is not empty, the request contains it.
func ask(t *testing.T, client *http.Client, url, token string) (status int, body string) {
	t.Helper()
	return sendWith(t, client, url, token, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"})
}

// send sends a message in a POST.
func send(t testing.TB, url, token, message string, headers map[string]string) (status int, body string) {
	t.Helper()
	return sendWith(t, http.DefaultClient, url, token, message, headers)
}

func sendWith(t testing.TB, client *http.Client, url, token, message string, headers map[string]string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if answer.Header.Get("Content-Type") == "text/event-stream" { // a slow answer; its last event is the response
		_, text, _ = strings.Cut(text[max(0, strings.LastIndex(text, "\ndata: ")):], "data: ")
	}
	return answer.StatusCode, text
}

func TestServeHTTP(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), hosttest.Files{"work/token": token + "\n"})
	w.Write(t, withHTTP("token_file = '"+filepath.Join(w.Dir, "work", "token")+"'"))
	url, end := serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
	if status, body := ask(t, http.DefaultClient, url, token); status != http.StatusOK || !strings.Contains(body, "a_reads") {
		t.Errorf("with the token: %d %s", status, body)
	}
	if status, body := ask(t, http.DefaultClient, url, ""); status != http.StatusUnauthorized || strings.Contains(body, "a_reads") {
		t.Errorf("without a token: %d %s", status, body)
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("ServeHTTP: %v", err)
	}
}

// TestServeHTTPWarnsOfTokenThatAllCanRead checks the warning, also that of state keys, which must not contain what the file has.
func TestServeHTTPWarnsOfTokenThatAllCanRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode")
	}
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true, 0o604: true} {
		w := hosttest.New(t, answering("a", "A"), hosttest.Files{"work/token": token})
		file := filepath.Join(w.Dir, "work", "token")
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		w.Write(t, withHTTP("token_file = '"+file+"'"))
		_, end := serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
		_ = end()
		if log := w.Log.String(); strings.Contains(log, "all users of this machine") != want || strings.Contains(log, token) {
			t.Errorf("mode %o: %s", mode, log)
		}

		w = hosttest.New(t, answering("a", "A"), hosttest.Files{"work/keys": strings.Repeat("k", 32)})
		file = filepath.Join(w.Dir, "work", "keys")
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		w.Write(t, withHTTP("state_keys = '"+file+"'"))
		_, end = serveHTTP(t, w.Open(t, w.Options()), host.HTTPOptions{Address: "127.0.0.1:0"})
		_ = end()
		if log := w.Log.String(); strings.Contains(log, "can read the state keys") != want || strings.Contains(log, "kkkk") {
			t.Errorf("state keys of mode %o: %s", mode, log)
		}
	}
}

// TestServeHTTPRefuses checks that ServeHTTP refuses addresses and settings that are not safe.
func TestServeHTTPRefuses(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), hosttest.Files{"work/token": token, "work/short": "short", "work/empty": "", "work/lines": token + "\n" + token, "work/huge": strings.Repeat("x", 1<<20), "work/cert": "no certificate"})
	file := func(name string) string { return filepath.Join(w.Dir, "work", name) }
	for name, c := range map[string]struct {
		keys    string
		options host.HTTPOptions
		want    []string
	}{
		"all addresses without a token": {"", host.HTTPOptions{Address: ":0", Insecure: true}, []string{"needs a bearer token", "bulkhead token new"}},
		"all addresses without TLS":     {"", host.HTTPOptions{Address: "0.0.0.0:0", TokenFile: file("token")}, []string{"needs TLS", "--insecure-http"}},
		"a short token":                 {"", host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: file("short")}, []string{file("short"), "fewer than 20 characters"}},
		"an empty token":                {"", host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: file("empty")}, []string{file("empty"), "fewer than 20 characters"}},
		"a token with a line break":     {"", host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: file("lines")}, []string{file("lines"), "visible ASCII"}},
		"a huge token":                  {"", host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: file("huge")}, []string{file("huge"), "8 KiB"}},
		"a directory for the token":     {"", host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: file("")}, []string{file("")}},
		"a missing token":               {"token_file = '" + file("none") + "'", host.HTTPOptions{Address: "127.0.0.1:0"}, []string{file("none")}},
		"an unset variable":             {"token_env = 'BULKHEAD_NONE'", host.HTTPOptions{Address: "127.0.0.1:0"}, []string{"$BULKHEAD_NONE", "not set"}},
		"an invalid certificate":        {"", host.HTTPOptions{Address: "127.0.0.1:0", CertFile: file("cert"), KeyFile: file("cert")}, []string{"TLS"}},
		"no address":                    {"", host.HTTPOptions{Address: "nothing"}, []string{"--http"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.Write(t, withHTTP(c.keys))
			err := w.Open(t, w.Options()).ServeHTTP(t.Context(), c.options)
			hosttest.WantUsage(t, err, c.want...)
			if strings.Contains(err.Error(), "short\"") || strings.Contains(err.Error(), token) {
				t.Errorf("the error contains the token: %v", err)
			}
		})
	}
}

func TestServeHTTPDoesNotServeWithoutTheConfig(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), hosttest.Files{"work/bulkhead.toml": "[http]\ntoken_file = 1\n"})
	o := w.Options()
	o.ServeNothing = true
	hosttest.WantUsage(t, w.Open(t, o).ServeHTTP(t.Context(), host.HTTPOptions{Address: "127.0.0.1:0"}), "token_file")
}

func TestServeHTTPEncrypts(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), withHTTP("hosts = ['example.com']"), hosttest.Files{"work/token": token})
	o := host.HTTPOptions{Address: "0.0.0.0:0", TokenFile: filepath.Join(w.Dir, "work", "token"), CertFile: filepath.Join(w.Dir, "cert.pem"), KeyFile: filepath.Join(w.Dir, "key.pem")}
	authorities := writeCertificate(t, o.CertFile, o.KeyFile)
	url, end := serveHTTP(t, w.Open(t, w.Options()), o)
	_, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/mcp"))
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}}
	if status, body := ask(t, client, "https://example.com/mcp", token); status != http.StatusOK || !strings.Contains(body, "a_reads") {
		t.Errorf("%d %s", status, body)
	}
	client.CloseIdleConnections()
	_ = end()
}

// writeCertificate writes a certificate for example.com and its key. It returns a pool with the authority that has issued the certificate.
func writeCertificate(t *testing.T, cert, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return writeCertificateOf(t, private, cert, key)
}

// writeCertificateOf is writeCertificate for the private key.
func writeCertificateOf(t *testing.T, private crypto.Signer, cert, key string) *x509.CertPool {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool
}

func TestShortRSAKeyIsRefused(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"))
	o := host.HTTPOptions{Address: "127.0.0.1:0", CertFile: filepath.Join(w.Dir, "cert"), KeyFile: filepath.Join(w.Dir, "key")}
	for _, bits := range []int{1024, 2047, 2048} {
		private, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		writeCertificateOf(t, private, o.CertFile, o.KeyFile)
		if bits == 2048 {
			_, end := serveHTTP(t, w.Open(t, w.Options()), o)
			_ = end()
			continue
		}
		hosttest.WantUsage(t, w.Open(t, w.Options()).ServeHTTP(t.Context(), o), "TLS", o.KeyFile, fmt.Sprintf("RSA key of %d bits", bits), "ECDSA P-256")
	}
}

func TestChangedHTTPIsRejected(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), withHTTP("session_idle = '1h'"))
	h := w.Open(t, w.Options())
	url, end := serveHTTP(t, h, host.HTTPOptions{Address: "127.0.0.1:0"})
	w.Write(t, hosttest.Files{"work/bulkhead.toml": withHTTP("session_idle = '2h'")["work/bulkhead.toml"] + "[[plugins]]\npath = '../plugins/b'\n"})
	hosttest.WantUsage(t, h.Reload(t.Context()), "[http] has changed: restart the server")
	if _, body := ask(t, http.DefaultClient, url, ""); strings.Contains(body, "b_reads") {
		t.Error("the other changes of the rejected config are in force")
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "# a comment\n" + withHTTP("session_idle = '60m'")["work/bulkhead.toml"] + "[[plugins]]\npath = '../plugins/b'\n"})
	if err := h.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	_ = end()
	w.Write(t, withHTTP("session_idle = '3h'"))
	if err := h.Reload(t.Context()); err != nil {
		t.Errorf("without HTTP: %v", err)
	}
}

func TestCeilingBoundsHTTP(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), withHTTP("insecure_http = true"), hosttest.Files{"work/token": token})
	ceiling := filepath.Join(w.Dir, "ceiling.toml")
	o := w.Options()
	o.System = discovery.WithCeiling(o.System, ceiling, os.Getuid(), w.Dir)
	bound := func(keys string) *host.Host {
		t.Helper()
		if err := os.WriteFile(ceiling, []byte("[http]\n"+keys+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return w.Open(t, o)
	}
	withToken := host.HTTPOptions{Address: "127.0.0.1:0", TokenFile: filepath.Join(w.Dir, "work", "token")}
	beyond := withToken
	beyond.Address = "0.0.0.0:0"
	hosttest.WantUsage(t, bound("listen = 'none'").ServeHTTP(t.Context(), withToken), "does not allow HTTP", "ceiling.toml:1")
	hosttest.WantUsage(t, bound("listen = 'loopback'").ServeHTTP(t.Context(), beyond), "loopback addresses only")
	hosttest.WantUsage(t, bound("token = 'required'").ServeHTTP(t.Context(), host.HTTPOptions{Address: "127.0.0.1:0"}), "requires a bearer token")
	hosttest.WantUsage(t, bound("tls = 'required'").ServeHTTP(t.Context(), beyond), "requires TLS")
	h := bound("listen = 'loopback'\ntoken = 'required'\ntls = 'required'")
	url, end := serveHTTP(t, h, withToken)
	if status, body := ask(t, http.DefaultClient, url, token); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if err := os.WriteFile(ceiling, []byte("[http]\nlisten = 'none'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hosttest.WantUsage(t, h.Reload(t.Context()), "does not allow HTTP")
	hosttest.WantUsage(t, end(), "does not allow HTTP", "ask the administrator")
}
