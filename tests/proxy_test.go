//go:build unix

package tests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// proxyExample is a reverse proxy of docs/deploy.
type proxyExample struct {
	program string // also the name of the Debian package
	file    string // configuration in docs/deploy
	// edits are pairs of strings of the configuration and what the test has in their place, with PORT, UPSTREAM, CERT and KEY.
	edits []string
	frame string // configuration around it
	args  []string
	log   *logBuffer // what the proxy prints; nil: it is shown if the test fails
}

var proxies = map[string]proxyExample{
	"nginx": {
		program: "nginx", file: "nginx.conf",
		edits: []string{"listen 443", "listen 127.0.0.1:PORT", "127.0.0.1:8808", "UPSTREAM",
			"/etc/nginx/mcp.example.com.pem", "CERT", "/etc/nginx/mcp.example.com.key", "KEY", "60s", "17s"},
		frame: "daemon off;\nmaster_process off;\npid DIR/pid;\nerror_log DIR/errors;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path DIR/a;\n" +
			"proxy_temp_path DIR/b;\nfastcgi_temp_path DIR/c;\nuwsgi_temp_path DIR/d;\nscgi_temp_path DIR/e;\n%s}\n",
		args: []string{"-e", "DIR/errors", "-c"},
	},
	"haproxy": {
		program: "haproxy", file: "haproxy.cfg",
		edits: []string{"bind :443", "bind 127.0.0.1:PORT", "127.0.0.1:8808", "UPSTREAM", "/etc/haproxy/mcp.example.com.pem", "CERT", "60s", "17s"},
		frame: "global\n    ssl-default-bind-options ssl-min-ver TLSv1.2\n%s",
		args:  []string{"-db", "-f"},
	},
}

// startProxy starts a proxy in front of a server with the configuration of docs/deploy. It returns the base URL, and the transport to it.
func startProxy(t *testing.T, name, upstream string) (base string, transport *http.Transport) {
	t.Helper()
	proxy := proxies[name]
	proxy.edits = append(slices.Clone(proxy.edits), "UPSTREAM", hostOf(upstream))
	base, transport, _ = proxy.start(t)
	return base, transport
}

// hostOf returns host and port of the URL of an endpoint.
func hostOf(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
}

// start starts the proxy. reload replaces further strings of its configuration, in pairs, and has the proxy take it without losing a request.
func (proxy proxyExample) start(t *testing.T) (base string, transport *http.Transport, reload func(edits ...string)) {
	t.Helper()
	program, err := exec.LookPath(proxy.program)
	if err != nil {
		t.Skipf("%s is not installed (Debian: %[1]s)", proxy.program)
	}
	dir := t.TempDir()
	// The certificate of httptest is one of example.com.
	certified := httptest.NewTLSServer(nil)
	pair := certified.TLS.Certificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	certified.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	putFile(t, filepath.Join(dir, "cert"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}))+keyPEM)
	putFile(t, filepath.Join(dir, "key"), keyPEM)

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	text := readFile(t, filepath.Join("../docs/deploy", proxy.file))
	for i := 0; i < len(proxy.edits); i += 2 {
		if !strings.Contains(text, proxy.edits[i]) {
			t.Fatalf("%s has no %q", proxy.file, proxy.edits[i])
		}
		text = strings.ReplaceAll(text, proxy.edits[i], proxy.edits[i+1])
	}
	fill := strings.NewReplacer("PORT", port, "CERT", filepath.Join(dir, "cert"), "KEY", filepath.Join(dir, "key"), "DIR", dir)
	config := filepath.Join(dir, "config")
	text = fill.Replace(fmt.Sprintf(proxy.frame, text))
	putFile(t, config, text)
	var args []string
	for _, arg := range proxy.args {
		args = append(args, fill.Replace(arg))
	}
	cmd := exec.Command(program, append(args, config)...)
	log := proxy.log
	if log == nil {
		log = &logBuffer{}
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-exited
		if t.Failed() {
			t.Logf("log of %s:\n%s", proxy.program, log)
		}
	})
	reload = func(edits ...string) {
		t.Helper()
		putFile(t, config, strings.NewReplacer(edits...).Replace(text))
		// While HAProxy starts, it misses the signal.
		before, reloads := strings.Count(log.String(), "Reloading"), 0
		waitFor(t, "a reload of "+proxy.program, func() bool {
			if reloads++; reloads%100 == 1 {
				signal(t, cmd, syscall.SIGUSR2)
			}
			return strings.Count(log.String(), "Reloading") > before
		})
	}
	transport = &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	for range 1000 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			return "https://mcp.example.com:" + port, transport, reload
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("%s ended: %v", proxy.program, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen", proxy.program)
	return "", nil, nil
}

// behindProxy serves a plugin with a token and the name of the proxy.
func behindProxy(t *testing.T, plugin string) (url string, headers map[string]string) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[http]\nhosts = [\"mcp.example.com\"]\n[[plugins]]\npath = %q\n", plugin))
	return serveWithToken(t, config)
}

// TestClientsWorkThroughProxies has the Go SDK run the script of client libraries through the proxies of docs/deploy, which encrypt.
func TestClientsWorkThroughProxies(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "runs the built program")
	url, headers := behindProxy(t, builtPlugins(t, "testdata/guests/surface")+"/surface")
	script, err := filepath.Abs("clients/script.json")
	if err != nil {
		t.Fatal(err)
	}
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			base, transport := startProxy(t, name, url)
			for _, version := range []string{"2025-11-25", modernVersion} {
				target := scriptTarget{Script: script, Version: version, URL: base + "/mcp", Headers: headers, transport: transport}
				library{}.check(t, target, runGoSDK(t, target))
			}
			get := func(path string) int {
				t.Helper()
				response, err := (&http.Client{Transport: transport}).Get(base + path)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if response.ProtoMajor != 2 {
					t.Errorf("the proxy speaks %s", response.Proto)
				}
				return response.StatusCode
			}
			for path, want := range map[string]int{
				"/mcp": http.StatusUnauthorized, "/mcp/absent": http.StatusNotFound,
				"/healthz": http.StatusNotFound, "/readyz": http.StatusNotFound, "/": http.StatusNotFound, "/mcpx": http.StatusNotFound,
			} {
				if got := get(path); got != want && !(path == "/mcp/absent" && got == http.StatusUnauthorized) {
					t.Errorf("GET %s: status %d, want %d", path, got, want)
				}
			}
		})
	}
}

// TestProxiesPassProjectsAndMetadata calls a tool at the endpoint of a project, and reads the metadata that a refused request there names.
func TestProxiesPassProjectsAndMetadata(t *testing.T) {
	t.Parallel()
	testenv.NotShort(t, "runs the built program")
	config := filepath.Join(t.TempDir(), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[http]\nhosts = [\"mcp.example.com\"]\nissuers = [\"https://login.example.com/team\"]\naudience = \"https://mcp.example.com/mcp\"\n"+
		"[[projects]]\nname = \"site\"\npath = %q\n[[plugins]]\npath = %q\n", newDir(t, nil), filepath.Join(built.plugins(t), "hello")))
	url, headers := serveWithToken(t, config)
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			base, transport := startProxy(t, name, url)
			client := &http.Client{Transport: transport}
			response := startCall(t, client, base+"/mcp/site", "hello_greet", `{"name":"Ann"}`, headers["Authorization"])
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), "Hello, Ann!") {
				t.Errorf("the call at the project: %d %s %v", response.StatusCode, body, err)
			}
			response = startCall(t, client, base+"/mcp/site", "hello_greet", `{"name":"Ann"}`, "")
			response.Body.Close()
			const metadata = "/.well-known/oauth-protected-resource/mcp/site"
			if got, want := response.Header.Get("WWW-Authenticate"), `resource_metadata="https://mcp.example.com`+metadata+`"`; response.StatusCode != http.StatusUnauthorized || !strings.Contains(got, want) {
				t.Errorf("without a token: %d %s, want %s", response.StatusCode, got, want)
			}
			for path, resource := range map[string]string{
				metadata: "https://mcp.example.com/mcp/site", "/.well-known/oauth-protected-resource": "https://mcp.example.com/mcp", "/.well-known/oauth-protected-resource/mcp": "https://mcp.example.com/mcp",
			} {
				response, err := client.Get(base + path)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"resource":"`+resource+`"`) {
					t.Errorf("GET %s: %d %s %v, want the resource %s", path, response.StatusCode, body, err, resource)
				}
			}
		})
	}
}

// TestProxiesPassComments keeps a stream silent for longer than the proxies wait: the comments of the server, which they must not buffer, keep
// it open.
func TestProxiesPassComments(t *testing.T) {
	t.Parallel()
	testenv.All(t, "keeps a stream silent for 18 s")
	url, headers := behindProxy(t, filepath.Join(copyPlugins(t, "misbehave"), "misbehave"))
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, transport := startProxy(t, name, url)
			response := startCall(t, &http.Client{Transport: transport}, base+"/mcp", "misbehave_sleep", `{"ms":18500}`, headers["Authorization"])
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || !strings.Contains(string(body), "awake") || !strings.HasPrefix(string(body), ":") {
				t.Errorf("got %s, %v", body, err)
			}
		})
	}
}
