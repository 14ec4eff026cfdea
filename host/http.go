package host

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// HTTPOptions configure Host.ServeHTTP. A field that is set takes precedence over the corresponding key of [http] in the config.
type HTTPOptions struct {
	Address   string // host and port to listen on: "127.0.0.1:8808"; with port 0, the system chooses a free port
	TokenFile string // path of the file that contains the bearer token, which clients must send
	TokenEnv  string // name of the variable that contains the bearer token
	Tokens    bool   // whether the named tokens of the user are accepted
	CertFile  string // path of the file with the TLS certificates, in PEM
	KeyFile   string // path of the file with the TLS private key, in PEM
	Insecure  bool   // whether to allow plaintext at an address that is not loopback
	// Listener is what ServeHTTP accepts TCP connections of, and closes, if it is not nil. Then Address is used in errors only.
	Listener net.Listener
	// Listening, if it is not nil, is called with the URL of the MCP endpoint as soon as the host accepts connections.
	Listening func(url string)
}

// ServeHTTP serves clients over Streamable HTTP until ctx ends, and compiles modules in the background. Each request must contain the
// bearer token. Only at a loopback address is a token optional; without one, each client counts as the local user.
//
// When ctx ends, further requests are refused, while calls in flight may continue for the duration of Drain. Then they are cancelled and
// answered with an error. ServeHTTP returns ctx's error at most 500 ms later, or 1.5 s if otlp in [audit] is set and the last spans are not
// accepted. If the caller can correct an error, it is a *UsageError.
func (h *Host) ServeHTTP(ctx context.Context, o HTTPOptions) error {
	if o.Listener != nil {
		defer o.Listener.Close()
	}
	now := h.catalog()
	switch {
	case now.Untrusted != nil:
		return &UsageError{Err: now.Untrusted}
	case now.Invalid != nil:
		return &UsageError{Err: now.Invalid}
	}
	if err := h.checkAuditOutput(now.Found); err != nil {
		return err
	}
	settings := o.over(now.HTTP)
	secrets, err := h.openCredentials(settings)
	if err != nil {
		return err
	}
	listener, err := o.listen(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return usage.Errorf("--http: %w", err)
	}
	defer listener.Close()
	at := transport{loopback: listener.Addr().(*net.TCPAddr).IP.IsLoopback(), token: secrets.required(), encrypted: settings.CertFile != ""}
	if err := at.check(settings.Insecure, now.Ceiling); err != nil {
		return usage.Errorf("--http %s: %w", o.Address, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h.http.start(at, now.HTTP, secrets, stop)
	defer h.http.end()
	if err := h.openViews(ctx); err != nil {
		return err
	}
	if err := h.claimProjects(ctx, listener.Addr().String()); err != nil {
		return err
	}
	h.dispatcher.Warm(ctx)
	secrets.changed = func() {
		h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindTokens, Method: "change", Outcome: audit.OK})
	}
	secrets.watch(ctx)
	h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindServer, Method: "start", Outcome: audit.OK, Address: listener.Addr().String()})
	defer h.dispatcher.RecordEvent(audit.Record{Kind: audit.KindServer, Method: "end", Outcome: audit.OK, Address: listener.Addr().String()})

	url := "http://" + listener.Addr().String() + httpserver.Path
	if at.encrypted {
		url = "https" + url[len("http"):]
		listener = tls.NewListener(listener, secrets.tls())
	}
	server := httpserver.New(httpserver.Config{
		Gateway: h.gateway, Auth: secrets.authenticator(), Resource: secrets.resource(), Hosts: settings.AllHosts(), Origins: settings.Origins,
		SessionIdle: settings.SessionIdle, MaxConnections: settings.MaxConnections, Log: h.options.Log.Named("http"),
		Refused: h.dispatcher.ReportHTTPRefusal, View: h.viewOf, Metrics: &h.observed, Policy: h.dispatcher.PolicyDigest,
	})
	end, err := h.observe(ctx, server)
	if err != nil {
		return err
	}
	defer end()
	h.options.Log.Info("serving MCP over HTTP", "url", url, "token", at.token)
	if o.Listening != nil {
		o.Listening(url)
	}
	return server.Serve(ctx, listener, h.Drain)
}

// listen returns the listener of the options, or opens one.
func (o HTTPOptions) listen(ctx context.Context) (net.Listener, error) {
	if o.Listener == nil {
		return listenWhenFree(ctx, o.Address)
	}
	if _, isTCP := o.Listener.Addr().(*net.TCPAddr); !isTCP {
		return nil, fmt.Errorf("%s %s is no TCP socket: listen on a loopback address instead, such as 127.0.0.1:8808", o.Listener.Addr().Network(), o.Listener.Addr())
	}
	return o.Listener, nil
}

// addressPatience is how long listenWhenFree waits for another process to end, such as a killed server.
const addressPatience = 3 * time.Second

// addressRemedy is the remedy for an address on which the server cannot listen.
const addressRemedy = "end the other program that listens there, such as another server with this config, or name another address"

// wsaAddressInUse is the error on Windows, WSAEADDRINUSE, which syscall.EADDRINUSE does not include.
const wsaAddressInUse = syscall.Errno(10048)

// listenWhenFree listens on an address, and waits for a moment while another process does.
func listenWhenFree(ctx context.Context, address string) (l net.Listener, err error) {
	ctx, cancel := context.WithTimeout(ctx, addressPatience)
	defer cancel()
	var inUse error
	err = filelock.Poll(ctx, func() (done bool, err error) {
		l, err = net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, wsaAddressInUse) {
			inUse = err
			return false, nil
		}
		return true, err
	})
	if errors.Is(err, context.DeadlineExceeded) && inUse != nil {
		return nil, fmt.Errorf("%w\n  remedy: %s", inUse, addressRemedy)
	}
	return l, err
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
	s.Tokens, s.Insecure = s.Tokens || o.Tokens, s.Insecure || o.Insecure
	return s
}

// transport describes the connection between clients and the host.
type transport struct{ loopback, token, encrypted bool }

// check returns an error if the host must not serve clients over this transport.
func (t transport) check(insecure bool, ceiling *config.Ceiling) error {
	switch {
	case t.loopback:
	case !t.token:
		return errors.New("an address that is not loopback needs a bearer token: run `bulkhead token new NAME`, and set tokens in [http] or pass --tokens")
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
	secrets  *credentials
	stop     context.CancelCauseFunc
}

func (s *served) start(at transport, settings *config.HTTPServer, secrets *credentials, stop context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.at, s.settings, s.secrets, s.stop = true, at, settings, secrets, stop
}

func (s *served) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.secrets = false, nil
}

// readCredentials reads the tokens and certificates of a running server again.
func (s *served) readCredentials() {
	s.mu.Lock()
	secrets := s.secrets
	s.mu.Unlock()
	if secrets != nil {
		secrets.readAgain()
	}
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
		err := usage.Errorf("%s: ask the administrator of this machine, and start the server as the ceiling allows", why)
		s.stop(err)
		return err
	}
	if found.Untrusted == nil && !s.settings.Equal(found.HTTP) {
		return usage.Errorf("%s: [http] has changed: restart the server, since a change of [http] applies at a start only", cmp.Or(found.Config, "the config"))
	}
	return nil
}
