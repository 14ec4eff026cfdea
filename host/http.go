package host

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// HTTPOptions configure Host.ServeHTTP. A field that is set takes precedence over the corresponding key of [http] in the config.
type HTTPOptions struct {
	Address   string // host and port to listen on: "127.0.0.1:8808"; with port 0, the system chooses a free port
	TokenFile string // path of the file that contains the bearer token, which clients must send
	TokenEnv  string // name of the variable that contains the bearer token
	CertFile  string // path of the file with the TLS certificates, in PEM
	KeyFile   string // path of the file with the TLS private key, in PEM
	Insecure  bool   // whether to allow plaintext at an address that is not loopback
	// Listening, if it is not nil, is called with the URL of the MCP endpoint as soon as the host accepts connections.
	Listening func(url string)
}

// ServeHTTP serves clients over Streamable HTTP until ctx ends, and compiles modules in the background. Each request must contain the
// bearer token. Only at a loopback address is a token optional; without one, each client counts as the local user.
//
// When ctx ends, further requests are refused, while calls in flight may continue for the duration of Drain. Then they are cancelled and
// answered with an error. ServeHTTP returns ctx's error at most 500 ms later. If the caller can correct an error, it is a *UsageError.
func (h *Host) ServeHTTP(ctx context.Context, o HTTPOptions) error {
	now := h.catalog()
	switch {
	case now.Untrusted != nil:
		return &UsageError{Err: now.Untrusted}
	case now.Invalid != nil:
		return &UsageError{Err: now.Invalid}
	}
	if err := refuseClients(now.Found); err != nil {
		return err
	}
	settings := o.over(now.HTTP)
	token, err := readToken(h.options.System, settings)
	if err != nil {
		return err
	}
	if settings.TokenFile != "" && isOpenToAll(settings.TokenFile) {
		h.options.Log.Warn("all users of this machine can read the file of the bearer token: run chmod o-rwx FILE, and make a new token", "file", settings.TokenFile)
	}
	var encryption *tls.Config
	if settings.CertFile != "" {
		certificate, err := readCertificate(settings.CertFile, settings.KeyFile)
		if err != nil {
			return usage.Errorf("TLS: %w", err)
		}
		encryption = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return usage.Errorf("--http: %w", err)
	}
	defer listener.Close()
	at := transport{loopback: listener.Addr().(*net.TCPAddr).IP.IsLoopback(), token: token != "", encrypted: encryption != nil}
	if err := at.check(settings.Insecure, now.Ceiling); err != nil {
		return usage.Errorf("--http %s: %w", o.Address, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.http.start(at, now.HTTP, stop)
	defer h.http.end()
	h.dispatcher.Warm(ctx)

	url := "http://" + listener.Addr().String() + httpserver.Path
	if encryption != nil {
		url = "https" + url[len("http"):]
		listener = tls.NewListener(listener, encryption)
	}
	server := httpserver.New(httpserver.Config{
		Gateway: h.gateway, Token: token, Hosts: settings.Hosts, Origins: settings.Origins,
		SessionIdle: settings.SessionIdle, MaxConnections: settings.MaxConnections, Log: h.options.Log.Named("http"),
		Refused: h.dispatcher.ReportHTTPRefusal,
	})
	h.options.Log.Info("serving MCP over HTTP", "url", url, "token", at.token)
	if o.Listening != nil {
		o.Listening(url)
	}
	return server.Serve(ctx, listener, h.Drain)
}

// refuseClients returns an error if the config has [[clients]]: who wrote them relies on them.
func refuseClients(found *discovery.Found) error {
	if len(found.Clients.Tables) == 0 {
		return nil
	}
	return usage.Errorf("%s has [[clients]], which this version does not apply to HTTP yet: serve without --http, or remove the tables", found.Config)
}

// over returns the settings of c, the config's [http], in which the options that are set replace the corresponding ones.
func (o HTTPOptions) over(c *config.HTTPServer) config.HTTPServer {
	var s config.HTTPServer
	if c != nil {
		s = *c
	}
	if o.TokenFile != "" || o.TokenEnv != "" {
		s.TokenFile, s.TokenEnv = o.TokenFile, o.TokenEnv
	}
	if o.CertFile != "" || o.KeyFile != "" {
		s.CertFile, s.KeyFile = o.CertFile, o.KeyFile
	}
	s.Insecure = s.Insecure || o.Insecure
	return s
}

// readToken reads the bearer token; empty if none is configured. No error contains the token.
func readToken(system System, s config.HTTPServer) (string, error) {
	if s.TokenFile == "" && s.TokenEnv == "" {
		return "", nil
	}
	if s.TokenFile != "" && s.TokenEnv != "" {
		return "", usage.Errorf("the bearer token: both a file and a variable are named: keep one of the two")
	}
	token, err := discovery.Secret(system, &config.Credential{Env: s.TokenEnv, File: s.TokenFile})
	if err == nil {
		err = httpserver.CheckToken(token)
	}
	if err != nil {
		return "", usage.Errorf("the bearer token in %s: %w", cmp.Or(s.TokenFile, "$"+s.TokenEnv), err)
	}
	return token, nil
}

const (
	maxPEM     = 1 << 20 // bytes of a file of certificates or of a key
	minRSABits = 2048    // NIST SP 800-131A disallows shorter keys since 2014
)

// readCertificate reads the certificates and the private key of the server.
func readCertificate(certFile, keyFile string) (tls.Certificate, error) {
	certs, err := filesystem.ReadFile(filesystem.OS{}, certFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := discovery.SecretFile(keyFile, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certs, key)
	if err != nil {
		return pair, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
	}
	if public, ok := pair.Leaf.PublicKey.(*rsa.PublicKey); ok && public.N.BitLen() < minRSABits {
		return pair, fmt.Errorf("%s has an RSA key of %d bits, and fewer than %d are not safe: make a new key and certificate, with ECDSA P-256 or RSA of %d bits", keyFile, public.N.BitLen(), minRSABits, minRSABits)
	}
	return pair, nil
}

// isOpenToAll reports whether users other than the owner and the group of a file can read it. Windows has no such mode.
func isOpenToAll(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
}

// transport describes the connection between clients and the host.
type transport struct{ loopback, token, encrypted bool }

// check returns an error if the host must not serve clients over this transport.
func (t transport) check(insecure bool, ceiling *config.Ceiling) error {
	switch {
	case t.loopback:
	case !t.token:
		return errors.New("an address that is not loopback needs a bearer token: run `bulkhead token new FILE`, and set token_file in [http] or pass --token-file")
	case !t.encrypted && !insecure:
		return errors.New("an address that is not loopback needs TLS: set tls_cert and tls_key in [http], or pass --insecure-http if a proxy on the way encrypts")
	}
	if why := ceiling.HTTPProblem(t.loopback, t.token, t.encrypted); why != "" {
		return fmt.Errorf("%s: ask the administrator of this machine", why)
	}
	return nil
}

// served is the state of a server that ServeHTTP runs.
type served struct {
	mu       sync.Mutex
	running  bool
	at       transport
	settings *config.HTTPServer // the config's [http]
	stop     context.CancelCauseFunc
}

func (s *served) start(at transport, settings *config.HTTPServer, stop context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.at, s.settings, s.stop = true, at, settings, stop
}

func (s *served) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// allows returns an error if the result of a reload must not take effect while clients are served over HTTP. If the ceiling no longer
// allows this server, the server ends.
func (s *served) allows(found *discovery.Found) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return nil
	}
	if why := found.Ceiling.HTTPProblem(s.at.loopback, s.at.token, s.at.encrypted); why != "" {
		err := usage.Errorf("%s any more", why)
		s.stop(err)
		return err
	}
	if err := refuseClients(found); err != nil {
		return err
	}
	if found.Untrusted == nil && !s.settings.Equal(found.HTTP) {
		return usage.Errorf("%s: [http] has changed: restart the server, since a change of [http] applies at a start only", cmp.Or(found.Config, "the config"))
	}
	return nil
}
