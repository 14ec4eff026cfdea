package host

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/oauth"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// credentials are the tokens and the certificate of an HTTP server. They are read again when their files change.
type credentials struct {
	settings config.HTTPServer
	system   System
	log      hclog.Logger
	named    bearer.File
	tokens   *bearer.Tokens
	jwts     *oauth.Verifier // nil: no issuer is accepted
	pair     atomic.Pointer[tls.Certificate]

	share   func([]string) // gets the keys of the state of questions
	changed func()         // called after tokens have changed; nil until the server serves

	reading sync.Mutex
	failed  string   // the last error of readAgain, which is logged once
	keys    []string // of the state of questions
}

// openCredentials reads the credentials that the settings name. If the caller can correct an error, it is a *UsageError.
func (h *Host) openCredentials(settings config.HTTPServer) (*credentials, error) {
	c := &credentials{settings: settings, system: h.options.System, log: h.options.Log, tokens: bearer.NewTokens(gateway.TokenHolder), share: h.gateway.ShareState}
	if settings.Tokens {
		var err error
		if c.named, err = discovery.NamedTokens(c.system); err != nil {
			return nil, usage.Errorf("the named tokens: %w", err)
		}
	}
	if settings.TokenFile != "" && isOpenToAll(settings.TokenFile) {
		c.log.Warn("all users of this machine can read the file of the bearer token: run chmod o-rwx FILE, and make a new token", "file", settings.TokenFile)
	}
	if settings.StateKeys != "" && isOpenToAll(settings.StateKeys) {
		c.log.Warn("all users of this machine can read the state keys: run chmod o-rwx FILE, and replace the keys", "file", settings.StateKeys)
	}
	if len(settings.Issuers) > 0 {
		c.jwts = oauth.New(oauth.Config{
			Issuers: settings.Issuers, Audience: settings.Audience, Others: settings.OtherAudiences, Scopes: settings.Scopes,
			Client: new(download.Client), Log: h.options.Log.Named("oauth"),
		})
	}
	if _, _, err := c.read(); err != nil {
		return nil, usage.Errorf("%w", err)
	}
	return c, nil
}

// read reads all credentials. Tokens that cannot be read are not accepted any more, while a certificate and the keys of states stay in use.
func (c *credentials) read() (added, ended int, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	single, problem := readToken(c.system, c.settings)
	err = problem
	var named []bearer.Named
	if c.settings.Tokens {
		if named, problem = c.named.Read(); problem != nil {
			err = errors.Join(err, fmt.Errorf("the named tokens: %w", problem))
		}
	}
	added, ended = c.tokens.Set(single, named)
	if c.settings.StateKeys != "" {
		if keys, problem := readStateKeys(c.settings.StateKeys); problem != nil {
			err = errors.Join(err, problem)
		} else {
			c.share(keys)
			if c.keys != nil && !slices.Equal(c.keys, keys) {
				c.log.Info("the state keys have changed", "file", c.settings.StateKeys, "keys", len(keys))
			}
			c.keys = keys
		}
	}
	if c.settings.CertFile != "" {
		pair, problem := readCertificate(c.settings.CertFile, c.settings.KeyFile)
		if problem != nil {
			return added, ended, errors.Join(err, fmt.Errorf("TLS: %w", problem))
		}
		if old := c.pair.Swap(&pair); old != nil && !slices.EqualFunc(old.Certificate, pair.Certificate, slices.Equal) {
			c.log.Info("the certificate was replaced", "file", c.settings.CertFile, "until", pair.Leaf.NotAfter)
		}
	}
	return added, ended, err
}

// readAgain reads the credentials of a running server, and logs what has changed.
func (c *credentials) readAgain() (ok bool) {
	added, ended, err := c.read()
	if added+ended > 0 {
		c.log.Info("the tokens of the server have changed", "new", added, "ended", ended)
		if c.changed != nil {
			c.changed()
		}
	}
	failed := ""
	if err != nil {
		failed = err.Error()
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if failed != "" && failed != c.failed {
		c.log.Error("the credentials of the server cannot be read again: tokens of an unreadable file are refused, and former certificates and state keys stay in use", "reason", reasonOf(err))
	}
	c.failed = failed
	return err == nil
}

// watch reads the credentials again when their files change, and fetches the keys of issuers, until ctx ends.
func (c *credentials) watch(ctx context.Context) {
	if c.jwts != nil {
		c.jwts.Prefetch()
		context.AfterFunc(ctx, c.jwts.Close)
	}
	paths := slices.DeleteFunc([]string{c.settings.TokenFile, c.named.Path(), c.settings.CertFile, c.settings.KeyFile, c.settings.StateKeys}, func(path string) bool { return path == "" })
	if len(paths) == 0 {
		return
	}
	ok := true
	go watch.Run(ctx, watch.Config{
		Paths:   func() []string { return paths },
		Changed: func() { ok = c.readAgain() },
		Again: func(changed []string, _ bool) watch.Next {
			switch {
			case len(changed) > 0:
				return watch.AtOnce
			case !ok:
				return watch.AfterCalm
			}
			return watch.AfterChange
		},
		Log: c.log,
	})
}

// required reports whether each request needs a token.
func (c *credentials) required() bool {
	return c.settings.TokenFile != "" || c.settings.TokenEnv != "" || c.settings.Tokens || c.jwts != nil
}

// authenticator returns what decides about the tokens of requests; nil if they need none.
func (c *credentials) authenticator() httpserver.Authenticator {
	if !c.required() {
		return nil
	}
	return c
}

// Authenticate implements httpserver.Authenticator.
func (c *credentials) Authenticate(ctx context.Context, token, endpoint string) (*bearer.Access, error) {
	access, err := c.tokens.Authenticate(token)
	if access != nil || err != nil || c.jwts == nil {
		return access, err
	}
	return c.jwts.Authenticate(ctx, token, endpoint)
}

// resource describes the server to clients of OAuth; nil if it accepts no tokens of issuers.
func (c *credentials) resource() *httpserver.Resource {
	if c.jwts == nil {
		return nil
	}
	return &httpserver.Resource{URL: c.settings.Audience, Issuers: c.settings.Issuers, Scopes: c.settings.Scopes}
}

// tls returns the TLS configuration of the server.
func (c *credentials) tls() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.pair.Load(), nil },
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
	}
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
		err = bearer.CheckSecret(token)
	}
	if err != nil {
		return "", usage.Errorf("the bearer token in %s: %w", cmp.Or(s.TokenFile, "$"+s.TokenEnv), err)
	}
	return token, nil
}

// Bounds of the file of keys for the state of questions.
const (
	maxStateKeys = 8
	minStateKey  = 32      // characters; bulkhead token new writes more
	maxStateFile = 8 << 10 // bytes
)

// readStateKeys reads the keys that encrypt the state of questions, one a line. No error contains a key.
func readStateKeys(file string) ([]string, error) {
	data, err := discovery.SecretFile(file, maxStateFile)
	if err != nil {
		return nil, usage.Errorf("http.state_keys: %w", err)
	}
	var keys []string
	for number, line := range slices.Collect(strings.Lines(string(data))) {
		key := strings.TrimRight(line, "\r\n")
		if key == "" {
			continue
		}
		why := bearer.CheckSecret(key)
		if len(key) < minStateKey {
			why = fmt.Errorf("it has fewer than %d characters", minStateKey)
		}
		if why != nil {
			return nil, usage.Errorf("http.state_keys: %s:%d: this is no key: %w\n  remedy: write one key a line, such as `bulkhead token new ./FILE` makes", file, number+1, why)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > maxStateKeys {
		return nil, usage.Errorf("http.state_keys: %s has %d keys\n  remedy: write 1 to %d, one a line, of which the first one encrypts", file, len(keys), maxStateKeys)
	}
	return keys, nil
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
