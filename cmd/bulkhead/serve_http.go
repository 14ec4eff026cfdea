package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// addHTTPFlags defines the flags of serve that select and configure HTTP.
func addHTTPFlags(c *cobra.Command, http *host.HTTPOptions) {
	f := c.Flags()
	f.StringVar(&http.Address, "http", "", "serve Streamable HTTP at this `address`, HOST:PORT, instead of stdio; systemd: at\nthe socket of a systemd unit")
	f.StringVar(&http.TokenFile, "token-file", "", "`file` with the bearer token that clients must send (see bulkhead token new)")
	f.StringVar(&http.TokenEnv, "token-env", "", "`name` of a variable with the bearer token")
	f.BoolVar(&http.Tokens, "tokens", false, "accept the named tokens of bulkhead token new NAME; each request needs a token")
	f.StringVar(&http.CertFile, "tls-cert", "", "`file` with the TLS certificate and its chain, in PEM")
	f.StringVar(&http.KeyFile, "tls-key", "", "`file` with the private key of the certificate, in PEM")
	f.BoolVar(&http.Insecure, "insecure-http", false, "allow plaintext at an address that is not loopback: only behind a proxy that\nencrypts")
}

// serveHTTP completes the options for the transport of the flags. Over stdio, a host that cannot serve its plugins tells the
// client why. Over HTTP it does not start: it would not have the token of a config that it does not use.
func (o *options) serveHTTP(http *host.HTTPOptions) error {
	o.ServeNothing = http.Address == ""
	if http.Address != "" {
		o.AuditOutput = os.Stdout
	}
	switch {
	case http.Address == "" && (http.TokenFile+http.TokenEnv+http.CertFile+http.KeyFile != "" || http.Insecure || http.Tokens):
		return usage.Errorf("--token-file, --token-env, --tokens, --tls-cert, --tls-key and --insecure-http need --http")
	case http.Address == "":
		return nil
	case http.TokenFile != "" && http.TokenEnv != "":
		return usage.Errorf("--token-file conflicts with --token-env: keep one of the two")
	case (http.CertFile == "") != (http.KeyFile == ""):
		return usage.Errorf("--tls-cert and --tls-key are needed together")
	case http.Insecure && http.CertFile != "":
		return usage.Errorf("--insecure-http conflicts with --tls-cert: keep one of the two")
	}
	for _, path := range []*string{&http.TokenFile, &http.CertFile, &http.KeyFile} {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return usage.Errorf("%s: %w", *path, err)
		}
		*path = abs
		o.Private = append(o.Private, abs)
	}
	if http.Address == fromSystemd {
		return listenFromSystemd(http)
	}
	return nil
}
